"""Recordings in vcrpy's format: index, keys, state, redaction."""
