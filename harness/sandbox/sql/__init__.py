"""Queries the rows of databases: PostgreSQL and SQLite, of a service or in a sandbox's files."""
