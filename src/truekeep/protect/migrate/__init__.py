"""Moving in from other memories: one small reader for each format, what it becomes here, and the run."""
