"""`make release`: build the distribution, check it and use it once. Nothing is uploaded."""
