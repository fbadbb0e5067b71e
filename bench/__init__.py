"""Benchmarks: ratios within one run, so that slow and fast machines give comparable results."""
