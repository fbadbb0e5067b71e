"""What the service does, one verb per file; knows ports, never a cloud or a chat SDK."""
