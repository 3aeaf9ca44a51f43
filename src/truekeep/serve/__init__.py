"""The service: REST and MCP over HTTP for many keeps, with identity that comes from a token and nothing else."""
