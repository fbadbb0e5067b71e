"""The service on one machine: a local cloud that runs the template, and the chat platforms."""
