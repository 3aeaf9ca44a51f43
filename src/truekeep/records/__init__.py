"""Memory rows, their versions, and the indexes over them."""
