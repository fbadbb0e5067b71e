"""Start-up: reads each of botocore's data files once per process instead of once per session.

moto makes a new session wherever it wants to know the regions: several times while it is imported, and again for
each service that an account uses. Each time botocore parses the same megabytes.
"""

import functools
from typing import Any

from botocore.loaders import JSONFileLoader


def apply() -> None:
    plain = JSONFileLoader.load_file
    known: dict[str, Any] = {}

    @functools.wraps(plain)
    def load_file(self: JSONFileLoader, file_path: str) -> Any:
        if file_path not in known and (found := plain(self, file_path)) is not None:
            known[file_path] = found
        return known.get(file_path)

    JSONFileLoader.load_file = load_file
