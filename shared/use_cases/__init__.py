"""What the service does, one verb per file; knows ports, no cloud and no chat SDK."""
