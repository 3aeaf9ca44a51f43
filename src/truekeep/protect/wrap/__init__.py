"""Wrappers for stores that people have already: one sidecar that knows no framework, one module for each seam."""
