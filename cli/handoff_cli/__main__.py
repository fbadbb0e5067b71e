"""`python -m handoff_cli`: what the launcher of a checkout starts."""

from handoff_cli.main import entry

entry()
