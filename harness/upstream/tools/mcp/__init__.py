"""Answers from MCP servers, through a JSON-RPC client that keeps every part of a server's answer."""
