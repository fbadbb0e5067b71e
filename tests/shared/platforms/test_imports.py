"""Each platform's folder is self-contained: no other platform, and its SDK nowhere else."""

import sys
from functools import cache

import grimp
import pytest

from shared.platforms import PLATFORMS

FOLDERS = [f"shared.platforms.{spec.name}" for spec in PLATFORMS if spec.is_supported]
NO_SDK = {"aiohttp", "httpx", "pyromark"}  # HTTP for any platform; a parser of Markdown, whatever it becomes


@cache
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("shared", include_external_packages=True)


def modules_of(folder: str) -> set[str]:
    return {folder} | graph().find_descendants(folder)


def external_imports(folder: str) -> set[str]:
    imported = {name for module in modules_of(folder) for name in graph().find_modules_directly_imported_by(module)}
    return {name for name in imported if graph().is_module_squashed(name)} - sys.stdlib_module_names


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_platform_imports_no_other_platform(folder: str) -> None:
    for other in set(FOLDERS) - {folder}:
        assert not graph().direct_import_exists(importer=folder, imported=other, as_packages=True)


@pytest.mark.parametrize("folder", FOLDERS)
def test_an_sdk_is_imported_only_in_its_platforms_folder(folder: str) -> None:
    packages = external_imports(folder)

    assert packages
    for package in packages - NO_SDK:
        assert graph().find_modules_that_directly_import(package) <= modules_of(folder), package
