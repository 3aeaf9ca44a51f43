"""Scripts that run in environments of their own and know nothing of truekeep."""
