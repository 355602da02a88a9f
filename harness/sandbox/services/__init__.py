"""Databases and other services of an environment: started, seeded, queried, and isolated by network."""
