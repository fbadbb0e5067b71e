"""A stored transcript prepared for a model."""
