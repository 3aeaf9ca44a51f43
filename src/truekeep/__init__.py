"""Long-term memory for AI agents that cannot be poisoned into acting."""
