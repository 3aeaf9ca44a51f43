"""Who is believed, for what: pure rules, values in, values out."""
