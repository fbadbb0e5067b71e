"""The `Files` port on each of its adapters: in memory, in a directory, and on moto's S3."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from shared.aws.files import S3Files
from shared.errors import FileMismatch
from shared.ports.files import Files, Upload
from shared.sqlite.files import DirectoryFiles
from tests.support.memory_files import MemoryFiles

if TYPE_CHECKING:
    from local.cloud.engine import Engine


@dataclass
class Case:
    """An adapter, and what a client does with an upload: True if the bytes were taken."""

    files: Files
    send: Callable[[Upload, bytes, int], bool]


def memory_case() -> Case:
    files = MemoryFiles()

    def send(upload: Upload, content: bytes, _: int) -> bool:
        try:
            files.take(upload.url, content)
        except FileMismatch:
            return False
        return True

    return Case(files, send)


def directory_case(path: Path) -> Case:
    files = DirectoryFiles(path / "files")
    files.prepare()

    def send(upload: Upload, content: bytes, now: int) -> bool:
        key, size = files.announced(upload.url, now=now)
        try:
            files.put(key, [content], size=size, media_type="")
        except FileMismatch:
            return False
        return True

    return Case(files, send)


def s3_case(engine: "Engine") -> Case:
    client = engine.client("s3")
    bucket = f"files-{secrets.token_hex(8)}"
    client.create_bucket(Bucket=bucket)
    files = S3Files(client, bucket)

    def send(upload: Upload, content: bytes, _: int) -> bool:
        headers = {**upload.headers, "Content-Length": str(len(content))}
        return httpx.put(upload.url, content=content, headers=headers).status_code == httpx.codes.OK

    return Case(files, send)


@pytest.fixture(
    params=[
        "memory",
        "directory",
        pytest.param("s3", marks=pytest.mark.tier("test")),
    ]
)
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Case:
    if request.param == "s3":
        return s3_case(request.getfixturevalue("engine"))
    return memory_case() if request.param == "memory" else directory_case(tmp_path)
