"""The built-in agent, without a model."""
