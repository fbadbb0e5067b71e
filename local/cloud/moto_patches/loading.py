"""Start-up: reads each of botocore's data files, and lists their folders, once per process instead of once per session.

moto makes a new session wherever it wants to know the regions, and a new loader for each service that it plays. Each
time botocore looks through its thousand folders and parses the same megabytes.
"""

import functools
from typing import Any

from botocore.loaders import JSONFileLoader, Loader


def apply() -> None:
    _remember_files()
    _remember_services()


def _remember_files() -> None:
    plain = JSONFileLoader.load_file
    known: dict[str, Any] = {}

    @functools.wraps(plain)
    def load_file(self: JSONFileLoader, file_path: str) -> Any:
        if file_path not in known and (found := plain(self, file_path)) is not None:
            known[file_path] = found
        return known.get(file_path)

    JSONFileLoader.load_file = load_file


def _remember_services() -> None:
    plain = Loader.list_available_services
    known: dict[tuple[str, ...], list[str]] = {}

    @functools.wraps(plain)
    def list_available_services(self: Loader, type_name: str) -> list[str]:
        place = (type_name, *self.search_paths)
        if place not in known:
            known[place] = plain(self, type_name)
        return known[place]

    Loader.list_available_services = list_available_services
