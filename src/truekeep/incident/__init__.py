"""The incident kit: where a memory came from and what it touched, and how to take a source or a time back."""
