"""What use cases and store need of the outside: one module per role."""
