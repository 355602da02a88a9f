"""Spans from the wire to the journal: OTLP read, tokens checked, credentials removed."""
