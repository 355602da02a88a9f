"""The trial's tools as an MCP server, in a JSON-RPC of our own: no field that we do not know is dropped."""
