"""The audit log as a reader sees it."""
