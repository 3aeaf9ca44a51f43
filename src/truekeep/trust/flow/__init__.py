"""The act boundary: where the values of a tool call flow from, and whether the owner's words carry them."""
