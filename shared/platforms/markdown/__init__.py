"""Markdown cut into parts that a platform accepts."""
