"""The operator's own agent behind a URL."""
