"""Calls of runners: the machines on which users' own agents run turns."""
