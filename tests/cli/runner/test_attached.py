"""Files of messages on the machine: fetched without the token, checked, kept private, given as pictures and paths."""

import asyncio
import base64
import hashlib
import stat
from pathlib import Path
from typing import Any

import httpx
import pytest

from handoff_cli.config.sources import Configuration
from handoff_cli.runner.attached import MOST_PICTURE, Attached, Files, local_name
from handoff_cli.runner.wire.service import RunnerService
from tests.support.api_user import ApiUser
from tests.support.server_process import user_of
from tests.support.service import Service

PNG = b"\x89PNG\r\n\x1a\n and pixels"


@pytest.fixture
def user(service: Service) -> ApiUser:
    return user_of(service)


def uploaded(user: ApiUser, session_id: str, content: bytes, name: str, media_type: str) -> dict[str, Any]:
    asked = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "name": name, "type": media_type}
    file: dict[str, Any] = user.http.post(f"/sessions/{session_id}/files", json=asked).raise_for_status().json()
    upload = file.pop("upload")
    if upload:
        httpx.put(upload["url"], content=content, headers=upload["headers"]).raise_for_status()
    return file


def brought(service: Service, session_id: str, home: Path, *files: dict[str, Any]) -> Attached:
    async def bring() -> Attached:
        configuration = Configuration(service.url, service.tokens["owner"], "test", "test")
        async with RunnerService(configuration, "r-1") as runner:
            return await Files(runner, home / "state", session_id).of([{"id": "w", "text": "look", "files": files}])

    return asyncio.run(bring())


def test_a_picture_is_shown_and_named(service: Service, user: ApiUser, tmp_path: Path) -> None:
    session_id = user.create_session(1, "pictures")
    file = uploaded(user, session_id, PNG, "../what is wrong.png", "image/png")
    attached = brought(service, session_id, tmp_path, file)
    (picture,) = attached.blocks
    assert picture.type == "image"
    assert base64.b64decode(picture.data) == PNG
    (path,) = (tmp_path / "state" / "files").glob("*/*")
    assert path.read_bytes() == PNG
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.name.endswith("-what_is_wrong.png")
    assert attached.below("look") == f"look\n\n[Handoff: {path} is the attached file]"


def test_other_files_are_links(service: Service, user: ApiUser, tmp_path: Path) -> None:
    session_id = user.create_session(1, "logs")
    file = uploaded(user, session_id, b"line", "run.log", "text/plain")
    (link,) = brought(service, session_id, tmp_path, file).blocks
    (path,) = (tmp_path / "state" / "files").glob("*/*")
    assert link.type == "resource_link"
    assert link.uri == path.as_uri()


def test_a_large_picture_is_only_a_path(service: Service, user: ApiUser, tmp_path: Path) -> None:
    session_id = user.create_session(1, "large")
    file = uploaded(user, session_id, PNG + b"x" * MOST_PICTURE, "a.png", "image/png")
    attached = brought(service, session_id, tmp_path, file)
    assert [block.type for block in attached.blocks] == ["resource_link"]
    assert "too large to be shown" in attached.note


def test_bytes_that_differ_are_not_given(service: Service, user: ApiUser, tmp_path: Path) -> None:
    session_id = user.create_session(1, "other")
    file = uploaded(user, session_id, PNG, "a.png", "image/png")
    attached = brought(service, session_id, tmp_path, {**file, "sha256": "0" * 64})
    assert (attached.blocks, attached.note) == ((), "[Handoff: a.png could not be fetched to this machine.]")
    assert list((tmp_path / "state" / "files").glob("*/*")) == []


def test_a_file_that_is_gone_is_named(service: Service, user: ApiUser, tmp_path: Path) -> None:
    session_id = user.create_session(1, "gone")
    file = {"id": "1" * 64, "sha256": "1" * 64, "name": "a.txt", "type": "text/plain", "size": 3}
    assert brought(service, session_id, tmp_path, file).note.startswith("[Handoff: a.txt could not be fetched")


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("../../.ssh/id_rsa", "id_rsa"),
        ("..", "file"),
        ("", "file"),
        ("a b;$(rm).sh", "a_b___rm_.sh"),
        ("x\u202egnp.exe\n", "x_gnp.exe"),
        ("n" * 300 + ".png", "n" * 76 + ".png"),
        ("C:\\temp\\a.txt", "a.txt"),
    ],
)
def test_names_are_safe(name: str, safe: str) -> None:
    assert local_name(name) == safe
