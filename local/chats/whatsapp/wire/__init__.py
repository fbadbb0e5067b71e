"""WhatsApp's Cloud API over HTTP."""
