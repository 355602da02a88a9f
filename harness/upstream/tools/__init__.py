"""Tools of real services: HTTP, MCP servers and Python functions."""
