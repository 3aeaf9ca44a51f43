"""From conversation to candidates: working memory, strategies, prompt safety and model clients.

Nothing in this room decides who may act. Everything it yields is a candidate with a quote and a message id;
its origin is proved, and its verdict made, elsewhere.
"""
