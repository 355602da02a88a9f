"""The wire formats: how to parse requests and replies, and how errors are formatted. This package sends nothing."""
