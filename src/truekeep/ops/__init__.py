"""What an operator does with a whole keep: recovery, salvage, erasure."""
