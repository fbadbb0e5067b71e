"""Mends moto so that it can stand in for AWS under many threads; one module per family of defects.

moto keeps its state in module-level objects and its defects in module-level classes, so the mending happens once per
process: see `families`. Each family has its regression tests in tests/local/cloud/engine/, which fail on plain moto: a new
release of moto has to pass them before `MOTO` may name it.
"""

from importlib import metadata

MOTO = "5.2.5"


class UnknownMotoError(RuntimeError):
    """The shim reaches into moto's classes, so another version is another patient."""

    def __init__(self, found: str) -> None:
        super().__init__(
            f"The local cloud stands on moto {MOTO}, but moto {found} is installed. Nothing was started. "
            f"Run `make clean` and start again, or move local/cloud/moto_patches to {found}: set MOTO there, "
            "pin the same version in pyproject.toml, and let tests/local/cloud/engine say which mendings still fit."
        )


def refuse_other_versions(found: str) -> None:
    """Raise UnknownMotoError unless `found` is the version that the regression tests ran on."""
    if found != MOTO:
        raise UnknownMotoError(found)


refuse_other_versions(metadata.version("moto"))  # here, before any module of ours looks for something that has moved
