"""The room where a keep rests: backends, the sealed ledger on top of them, keys and the anchor."""
