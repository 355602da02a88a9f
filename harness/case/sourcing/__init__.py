"""Where a suite's tools come from: described calls, OpenAPI documents, MCP servers, Python functions, the sandbox."""
