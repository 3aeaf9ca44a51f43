"""The results of a run for people: a page to show to a security team, and tables for the docs."""
