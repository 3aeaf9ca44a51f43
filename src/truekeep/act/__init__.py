"""The act boundary: tool calls judged, tickets, credit."""
