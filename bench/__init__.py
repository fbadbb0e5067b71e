"""Benchmarks: ratios measured in one run, so that they say the same on a slow machine as on a fast one."""
