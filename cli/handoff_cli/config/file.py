"""Writes the config file: only its owner may read it, and it is never half written."""

import json
import os
import tempfile
from pathlib import Path

from handoff_cli.config.sources import read_config
from handoff_cli.errors import UsageProblem


def write_value(path: Path, key: str, value: str | None) -> None:
    """Sets one value, or removes it. Raises UsageProblem if the file cannot be written."""
    values = read_config(path)
    if value is None:
        values.pop(key, None)
    else:
        values[key] = value
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # A temporary file of mkstemp has mode 0600 from its first moment, and keeps it when renamed.
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            # A JSON string is a TOML basic string, once control characters are excluded.
            file.writelines(f"{name} = {json.dumps(kept, ensure_ascii=False)}\n" for name, kept in values.items())
        Path(name).replace(path)
    except OSError as error:
        raise UsageProblem(f"{path} cannot be written: {error.strerror}.") from error
