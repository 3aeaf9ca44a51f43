"""What people would use instead, and ourselves, behind one small protocol."""
