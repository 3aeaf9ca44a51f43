"""What is stated, by whom, and against whom."""
