"""The way in: one gate, its judge, and what calls them."""
