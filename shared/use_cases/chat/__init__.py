"""What people say and command in chats."""
