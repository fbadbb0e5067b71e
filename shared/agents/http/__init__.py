"""An agent behind a URL."""
