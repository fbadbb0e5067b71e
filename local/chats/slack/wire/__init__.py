"""Slack's Web API, Events API and Socket Mode."""
