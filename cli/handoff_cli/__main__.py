"""Start the program. Imports nothing at module level, so that Ctrl-C during start-up prints no traceback."""

import sys


def start() -> None:
    """Entry point of the installed `handoff` and of the checkout's launcher."""
    try:
        if sys.argv[1:2] == ["hook"] and len(sys.argv) == 3:
            _hook(sys.argv[2])
        if sys.argv[1:2] == ["hook"] and sys.argv[3:4] == ["--notify"] and sys.argv[-1] != "--post":
            _notify(sys.argv[2], "".join(sys.argv[4:5]))
        from handoff_cli.main import entry  # noqa: PLC0415 - see above
    except KeyboardInterrupt:
        sys.exit(130)
    entry()


def _hook(agent: str) -> None:
    """End here if the hook of an agent has nothing to say; else give its event to the command."""
    import io  # noqa: PLC0415 - see above
    import os  # noqa: PLC0415 - see above

    from handoff_cli.inside.quick import nothing_to_do  # noqa: PLC0415 - see above

    raw = sys.stdin.buffer.read()
    if nothing_to_do(agent, raw, os.environ):
        sys.exit(0)
    sys.stdin = io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8")


def _notify(agent: str, platform: str) -> None:
    """Says nothing and ends with 0, whatever happens: a notice is not worth a delay of the agent."""
    import os  # noqa: PLC0415 - see above

    from handoff_cli.inside.notify import notify  # noqa: PLC0415 - see above

    notify(agent, platform, sys.stdin.buffer.read(), os.environ)
    sys.exit(0)


if __name__ == "__main__":
    start()
