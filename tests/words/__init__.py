"""An attacker that searches words: what a person may say about a value without meaning that it be used."""
