"""Chat platforms: one module each, loaded only when used."""
