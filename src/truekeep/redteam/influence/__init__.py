"""Attack who may act: every way we know to make a planted value act, or a true one vanish, on keeps of every size."""
