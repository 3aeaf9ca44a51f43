"""Benchmarks: figures measured as CPU time, as ratios within one run where machines are noisy."""
