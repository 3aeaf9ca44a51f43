"""How the act boundary fares on calls and trajectories of other authors, and what each of its rules is worth."""
