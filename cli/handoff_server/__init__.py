"""Starts the service on one machine. Its code is not importable from here: only its own process puts it on sys.path."""
