"""Turns: running the agent and delivering its replies."""
