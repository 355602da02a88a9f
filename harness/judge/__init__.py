"""What no verifier can decide, judged by a model: one binary criterion at a time, on just the evidence it needs."""
