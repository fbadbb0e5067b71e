"""`python -P -m handoff_server`: the service, from the code in this package or from the checkout around it.

`maintain` as the first argument runs what looks after its data instead, `maintain-stack` the same for a deployment, and
`deploy` what creates, changes and removes a deployment, `set-up-stack` what sets up a bot for one.
"""

import runpy
import sys
from pathlib import Path

PACKAGED = Path(__file__).resolve().parent / "code"  # the build puts it there; a checkout has none
CHECKOUT = Path(__file__).resolve().parents[2]
PROGRAMS = {
    "maintain": "local.server.maintenance",
    "maintain-stack": "local.operate.data",
    "deploy": "local.operate.deploy",
    "set-up-stack": "local.operate.set_up",
}


def main() -> None:
    """Does not return before the program ends."""
    program = PROGRAMS.get(sys.argv[1]) if len(sys.argv) > 1 else None
    if program:
        del sys.argv[1]
    sys.path.insert(0, str(PACKAGED if PACKAGED.is_dir() else CHECKOUT))
    runpy.run_module(program or "local.server", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
