"""Other people's sets of memory attacks, fetched when they are measured and never kept here: one module a set."""
