"""Existing cassettes checked, converted, excerpted and refreshed."""
