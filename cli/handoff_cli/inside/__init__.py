"""`/handoff` typed inside an agent: its hooks call `handoff hook`, which answers without asking a model."""

HOOKED = ("claude-code", "codex", "gemini", "opencode", "hermes")
"""The agents whose hooks or plugins call `handoff hook AGENT`."""

ALWAYS_CURRENT = ("opencode", "hermes")
"""Agents that need not load what was said in a chat: opencode reads the session for each prompt, and no runner has hermes."""

MCP = "mcp"
"""All others: a server that they start, see `handoff mcp`."""
