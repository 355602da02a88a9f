"""Cassettes: recordings in vcrpy's format, with an index, state-aware keys and redaction."""
