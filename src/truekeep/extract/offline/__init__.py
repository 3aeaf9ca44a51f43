"""The extractor that needs no model: sentences, clauses, patterns, dates and names, in several languages."""
