"""The reference, generated from the code: every page is a function without arguments that gives Markdown."""
