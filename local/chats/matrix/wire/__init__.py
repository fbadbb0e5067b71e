"""A homeserver's client-server API, and its transactions to an application service."""
