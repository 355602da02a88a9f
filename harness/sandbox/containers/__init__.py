"""Sandboxes in containers: created, kept ready in advance, confined, and reconnected after an engine's restart."""
