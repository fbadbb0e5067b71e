"""Handoffs, from the request to the end."""
