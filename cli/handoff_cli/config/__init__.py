"""Where the CLI finds its service."""
