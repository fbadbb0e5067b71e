"""Patches moto where it differs from AWS, is not thread-safe, or is slow; each module names what it corrects.

The patches replace attributes of moto's classes, once per process: see `patches`. Each has regression tests in
tests/local/cloud/moto_patches, which fail on unpatched moto. A new release of moto must pass them before `MOTO` names it.
"""

from importlib import metadata

MOTO = "5.2.5"


class UnknownMotoError(RuntimeError):
    """The patches depend on moto internals and are valid for one version only."""

    def __init__(self, found: str) -> None:
        super().__init__(
            f"The local cloud needs moto {MOTO}, but moto {found} is installed. Nothing was started. "
            f"Run `make clean` and start again, or port local/cloud/moto_patches to {found}: set MOTO there, "
            "pin the same version in pyproject.toml, and run tests/local/cloud/moto_patches."
        )


def refuse_other_versions(found: str) -> None:
    """Raise UnknownMotoError unless `found` is the version that the regression tests ran on."""
    if found != MOTO:
        raise UnknownMotoError(found)


refuse_other_versions(metadata.version("moto"))  # before a patch fails on an attribute that has moved
