"""End to end: an agent with memory and tools, a model that obeys whatever it reads, and what it really did."""
