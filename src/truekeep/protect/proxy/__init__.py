"""The MCP proxy: a keep between an agent and any MCP server, memory server or not."""
