"""This client as another program starts it."""

import sys
import sysconfig
from pathlib import Path

import handoff_cli


def own_program(*arguments: str) -> tuple[list[str], dict[str, str]]:
    """The command, and the variables that it needs in a checkout. It imports nothing from the current directory."""
    home = Path(handoff_cli.__file__).resolve().parents[1]
    is_installed = home in {Path(sysconfig.get_path(name)).resolve() for name in ("purelib", "platlib")}
    return [sys.executable, "-P", "-m", "handoff_cli", *arguments], {} if is_installed else {"PYTHONPATH": str(home)}
