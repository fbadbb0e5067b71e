"""`make run`: prints a line at once, because the imports take a second or two."""

import sys
import time

from local.interruptible import interruptible


def main() -> int:
    """Run the service until Ctrl-C."""
    started = time.monotonic()
    sys.stdout.write("Starting Handoff on this machine ...\n")
    sys.stdout.flush()
    from local.run import run  # noqa: PLC0415 - slow imports, after the first output

    return run(started)


if __name__ == "__main__":
    sys.exit(interruptible(main, "Stopped before it was ready. Nothing is left running."))
