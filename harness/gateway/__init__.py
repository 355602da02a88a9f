"""The only way out of a sandbox: routes, sessions, budgets, and clients of real services."""
