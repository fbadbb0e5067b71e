"""Configuration: which service, which token."""
