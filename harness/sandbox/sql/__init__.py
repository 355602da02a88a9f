"""Databases asked for their rows: PostgreSQL and SQLite, of a service or in a sandbox's files."""
