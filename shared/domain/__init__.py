"""Sessions, messages, handoffs, routes and commands: pure, standard library only."""
