"""Claude Code: `~/.claude/projects/<directory, with dashes>/<session>.jsonl`, one record per line."""

from handoff_cli.readers.claude_code.read import read

__all__ = ["read"]
