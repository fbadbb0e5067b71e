"""Read sessions of other tools: one module per tool, each with `read(source) -> Transcript`."""

READERS = ("claude-code", "codex", "gemini", "hermes", "openai", "opencode")
