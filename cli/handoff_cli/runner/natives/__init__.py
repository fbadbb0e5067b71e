"""Sessions of the user's agents in listed projects, read from the agents' own files without starting them."""
