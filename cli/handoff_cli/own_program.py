"""This client as another program starts it."""

import sys
import sysconfig
from pathlib import Path

import handoff_cli


def own_program(*arguments: str, module: str = "handoff_cli") -> tuple[list[str], dict[str, str]]:
    """The command, and the variables that it needs in a checkout. It imports nothing from the current directory.

    Another `module` is one that starts faster than the whole client.
    """
    home = Path(handoff_cli.__file__).resolve().parents[1]
    is_installed = home in {Path(sysconfig.get_path(name)).resolve() for name in ("purelib", "platlib")}
    return [sys.executable, "-P", "-m", module, *arguments], {} if is_installed else {"PYTHONPATH": str(home)}
