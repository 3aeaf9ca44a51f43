"""Protection for memories that truekeep does not keep: files, stores and servers of others."""
