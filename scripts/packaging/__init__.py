"""What is given to others: built, looked through, installed where nothing else is, and listed part by part."""
