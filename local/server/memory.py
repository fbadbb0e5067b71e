"""Garbage collection in a process that loads much at its start and then lives long."""

import gc

_OBJECTS = 10_000
"""New objects between two looks for garbage: many times Python's usual number, as a handoff makes thousands."""


def prepare() -> None:
    """At the start: hundreds of modules are loaded, and none of them is garbage."""
    gc.disable()


def settle() -> None:
    """When everything is loaded: what is there now stays. The collector need not look at it again each time it runs."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS)
    gc.enable()
