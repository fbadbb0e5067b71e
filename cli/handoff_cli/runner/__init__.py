"""The runner: answers turns of sessions that this machine handed over with the user's own agent."""

AGENTS = ("claude-code", "codex", "opencode", "gemini", "hermes")
"""The names of the agents in the table; `acp:COMMAND` names any other one."""
