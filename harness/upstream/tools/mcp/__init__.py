"""Answers from MCP servers: uses an own JSON-RPC client, so that no part of a server's answer is lost."""
