"""The Agent Client Protocol: one agent process, one session, prompts and what comes back."""
