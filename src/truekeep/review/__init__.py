"""What a person decides about memories."""
