"""Tools for operators of a deployment."""
