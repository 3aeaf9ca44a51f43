"""Side-by-side runners: one file per peer, each run in its own environment with the same texts and vectors."""
