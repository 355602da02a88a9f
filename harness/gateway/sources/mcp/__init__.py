"""Answers from MCP servers: JSON-RPC of our own, so that nothing that a server says is dropped."""
