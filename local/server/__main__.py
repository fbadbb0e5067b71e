"""`make up`: the service on this machine, from its start until Ctrl-C."""

import logging
import os
import sys
import time
from typing import NoReturn

from local.interruptible import heed_restarts, interruptible, start_again


def main() -> int:
    """Exit codes: 0 after SIGINT or SIGTERM, 1 if it cannot start, 2 for wrong usage."""
    started = time.monotonic()
    umask = os.umask(0o077)  # SQLite makes files beside the database
    heed_restarts()
    before = dict(os.environ)  # the run adds settings, which may have changed by the next start
    from local.server import program  # noqa: PLC0415  # slow imports, which Ctrl-C may interrupt

    code = program.run(sys.argv[1:], os.environ, started, umask=umask)
    if code == program.START_AGAIN:
        flush()
        os.umask(umask)
        start_again({**before, program.PORT_AGAIN: os.environ[program.PORT_AGAIN]})
        return program.STOPPED
    return code


def end(code: int) -> NoReturn:
    """End now. The interpreter would wait for threads that wait for a platform or an agent, and may hang on others."""
    flush()
    os._exit(code)


def flush() -> None:
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()


if __name__ == "__main__":
    end(interruptible(main, "Stopped before it was ready. What was stored is kept."))
