"""Process rules: the row of a trial's events, the notation of rules, and rules learned from passing trials."""
