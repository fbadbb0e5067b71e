"""Start the program. Imports nothing at module level, so that Ctrl-C during start-up prints no traceback."""

import sys


def start() -> None:
    """Entry point of the installed `handoff` and of the checkout's launcher."""
    try:
        from handoff_cli.main import entry  # noqa: PLC0415 - see above
    except KeyboardInterrupt:
        sys.exit(130)
    entry()


if __name__ == "__main__":
    start()
