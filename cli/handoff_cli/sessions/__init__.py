"""Find sessions and bring them back."""
