"""The MCP server: seven tools and a resource over one bound handle, and questions to the person behind the client."""
