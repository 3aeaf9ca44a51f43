"""Keeps in PostgreSQL, on a real server."""
