"""Text as it is, as it might be read, and as it is compared."""
