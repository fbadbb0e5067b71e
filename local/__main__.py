"""`make run`: says at once that it begins, since what it is made of takes a moment to load."""

import sys
import time

from local.interruptible import interruptible


def main() -> int:
    """The service until Ctrl-C."""
    began = time.monotonic()
    sys.stdout.write("Starting Handoff on this machine ...\n")
    sys.stdout.flush()
    from local.run import run  # noqa: PLC0415 - a second or two of imports, after the first words

    return run(began)


if __name__ == "__main__":
    sys.exit(interruptible(main, "Stopped before it was ready. Nothing is left running."))
