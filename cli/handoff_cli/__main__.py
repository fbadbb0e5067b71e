"""The program's first lines: nothing to load yet, so that Ctrl-C while the rest loads is no reason for a traceback."""

import sys


def start() -> None:
    """What the installed program and the launcher of a checkout call."""
    try:
        from handoff_cli.main import entry  # noqa: PLC0415 - see above
    except KeyboardInterrupt:
        sys.exit(130)
    entry()


if __name__ == "__main__":
    start()
