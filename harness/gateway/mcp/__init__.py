"""The trial's tools as an MCP server, with its own JSON-RPC implementation, which drops no unknown field."""
