"""Permission requests of an agent as questions in a thread: pure, without a process or a service."""
