"""`make run`: prints a line at once, because the imports take a second or two."""

import argparse
import sys
import time

from local.interruptible import interruptible

HELP = """\
Runs Handoff on this machine until Ctrl-C: the API on port 8787, simulated chats on port 8788, or free ports if these are taken.
It takes no options. Settings are environment variables, such as HANDOFF_AGENT (docs/agents.md) and the tokens of real bots
(docs/platforms)."""


def main() -> int:
    """Run the service until Ctrl-C."""
    argparse.ArgumentParser(prog="python -m local", description=HELP).parse_args()
    started = time.monotonic()
    sys.stdout.write("Starting Handoff on this machine ...\n")
    sys.stdout.flush()
    from local.run import run  # noqa: PLC0415 - slow imports, after the first output

    return run(started)


if __name__ == "__main__":
    sys.exit(interruptible(main, "Stopped before it was ready. Nothing is left running."))
