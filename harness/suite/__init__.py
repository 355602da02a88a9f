"""What is asked: suites, cases and tools; reading them with file, line and field."""
