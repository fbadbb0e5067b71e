"""Turns at work: claim, run the agent, exchange with the service, deliver the result."""
