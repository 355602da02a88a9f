"""Output of all verbs: results, progress, JSON, cleaned text, and the standard streams."""
