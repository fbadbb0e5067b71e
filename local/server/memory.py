"""Keep the process small, its start quick and its pauses short."""

import ctypes
import gc
from typing import Any

from shared.platforms.late_certificates import certificates_when_used

_ARENA_MAX, _ARENAS = -8, 2
"""glibc gives each thread an arena of its own, up to eight per core, and keeps in each what was used there at most."""


def prepare() -> None:
    """At the start: hundreds of modules are loaded, and none of them is garbage."""
    gc.disable()
    _c_library("mallopt", _ARENA_MAX, _ARENAS)
    with certificates_when_used():
        import aiohttp  # noqa: F401, PLC0415  # the first import counts


def settle() -> None:
    """When everything is loaded: what is there now stays. The collector need not look at it again each time it runs."""
    gc.collect()
    gc.freeze()
    gc.enable()
    trim()


def trim() -> None:
    """Give memory that is free back to the system. Takes milliseconds; other threads go on."""
    _c_library("malloc_trim", 0)


def _c_library(name: str, *arguments: Any) -> None:
    """Call a function of glibc; other systems need none of this."""
    function = getattr(ctypes.CDLL(None), name, None)
    if function is not None:
        function(*arguments)
