"""Calls to the service."""
