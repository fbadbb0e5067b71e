"""`.local/env`: where the CLI of this checkout finds the running service, with nothing to source or copy."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path


@contextlib.contextmanager
def env_file(path: Path, values: Mapping[str, str]) -> Iterator[None]:
    """Write the file (readable by its owner only) and take it away afterwards, unless another run has replaced it."""
    text = "".join(f"{name}={value}\n" for name, value in values.items())
    path.parent.mkdir(mode=0o700, exist_ok=True)
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
    fresh.replace(path)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            if path.read_text() == text:
                path.unlink()
