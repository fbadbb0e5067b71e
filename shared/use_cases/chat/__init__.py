"""Messages and commands from chats."""
