"""Files that an agent, or a person at the machine, sends to the chat: what may go, and how it gets there."""
