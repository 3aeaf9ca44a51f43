"""What a session took in, and the channels it came over."""
