"""Sessions, messages, handoffs and routes: pure, standard library only."""
