"""The way out: recall, browsing, history, snapshots, export."""
