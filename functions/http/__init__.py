"""What all HTTP functions share: the app, the guard in front of it, dependencies, errors and field types."""
