"""One handoff, from the checks to the outcome."""
