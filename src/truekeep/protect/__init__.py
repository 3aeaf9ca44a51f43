"""Protection for memory that people already have."""
