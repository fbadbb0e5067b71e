"""The common part of all HTTP functions: the app, the guard in front of it, dependencies, errors and field types."""
