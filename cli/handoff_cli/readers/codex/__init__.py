"""Codex CLI: `~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl`, records of `{timestamp, type, payload}`."""

from handoff_cli.readers.codex.read import read

__all__ = ["read"]
