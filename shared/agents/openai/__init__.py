"""Any OpenAI-compatible chat completions endpoint."""
