"""Slack on this machine."""
