"""The runner's calls to the service, and what each answer means."""
