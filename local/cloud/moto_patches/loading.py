"""Speeds up the start: reads each of botocore's data files, and lists their folders, once per process.

moto creates a botocore session for each list of regions and a loader for each service; each one lists a thousand folders
and parses the same megabytes of JSON.
"""

import functools
from typing import Any

from botocore.loaders import JSONFileLoader, Loader


def apply() -> None:
    _cache_files()
    _cache_services()


def _cache_files() -> None:
    original = JSONFileLoader.load_file
    cache: dict[str, Any] = {}

    @functools.wraps(original)
    def load_file(self: JSONFileLoader, file_path: str) -> Any:
        if file_path not in cache and (found := original(self, file_path)) is not None:
            cache[file_path] = found
        return cache.get(file_path)

    JSONFileLoader.load_file = load_file


def _cache_services() -> None:
    original = Loader.list_available_services
    cache: dict[tuple[str, ...], list[str]] = {}

    @functools.wraps(original)
    def list_available_services(self: Loader, type_name: str) -> list[str]:
        key = (type_name, *self.search_paths)
        if key not in cache:
            cache[key] = original(self, type_name)
        return cache[key]

    Loader.list_available_services = list_available_services
