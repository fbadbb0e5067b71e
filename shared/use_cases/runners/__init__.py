"""What runners ask for: the machines on which users' own agents run turns."""
