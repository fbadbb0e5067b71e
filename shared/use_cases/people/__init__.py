"""Users, tokens, identities."""
