"""What waits for a person, and what stays out because a person rejected it."""
