"""Directories of the user, as the XDG specification names them. Without pathlib, which a hook has no time to import."""

import os
from collections.abc import Mapping


def user_home(environ: Mapping[str, str]) -> str:
    """The user's home directory."""
    return environ.get("HOME") or os.path.expanduser("~")  # noqa: PTH111 - see above


def config_home(environ: Mapping[str, str]) -> str:
    """The directory for configuration."""
    return _base(environ, "XDG_CONFIG_HOME", ".config")


def data_home(environ: Mapping[str, str]) -> str:
    """The directory for data."""
    return _base(environ, "XDG_DATA_HOME", ".local/share")


def state_home(environ: Mapping[str, str]) -> str:
    """The directory for state of this machine."""
    return _base(environ, "XDG_STATE_HOME", ".local/state")


def tool_home(environ: Mapping[str, str], variable: str, default: str) -> str:
    """The folder of another tool: the value of its variable, else its default below the home directory."""
    if named := environ.get(variable):
        return os.path.expanduser(named)  # noqa: PTH111 - see above
    return os.path.join(user_home(environ), default)  # noqa: PTH118 - see above


def _base(environ: Mapping[str, str], variable: str, default: str) -> str:
    named = environ.get(variable, "")
    # The specification: a relative path is invalid and must be ignored.
    return named if named.startswith("/") else f"{user_home(environ)}/{default}"
