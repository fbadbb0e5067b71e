"""Discord on this machine."""
