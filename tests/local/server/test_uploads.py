"""Uploads to a service on one machine: streamed to its disk, refused whole if they do not fit, bounded in memory."""

import hashlib
import os
import socket
import stat
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from local.server.service import Server
from tests.support.api_user import ApiUser
from tests.support.problems import problem_code
from tests.support.waiting import eventually

LARGE = 20_000_000
PIECE = b"x" * 100_000


@pytest.fixture
def path(user: ApiUser) -> str:
    return f"/sessions/{user.create_session(1, 'with files')}/files"


def announced(user: ApiUser, path: str, content: bytes) -> Any:
    asked = {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "name": "a.txt"}
    return user.http.post(path, json=asked).raise_for_status().json()


def put(upload: Any, content: bytes, **headers: str) -> httpx.Response:
    return httpx.put(upload["url"], content=content, headers=upload["headers"] | headers)


def test_a_file_comes_back_as_it_went(user: ApiUser, path: str, server: Server) -> None:
    content = os.urandom(3_000_000)
    file = announced(user, path, content)
    assert put(file["upload"], content).status_code == 204
    assert user.http.get(f"{path}/{file['id']}").content == content
    assert announced(user, path, content)["upload"] is None
    for each in server.directory.files.rglob("*"):
        assert stat.S_IMODE(each.stat().st_mode) == (0o700 if each.is_dir() else 0o600)


@pytest.mark.parametrize("sent", [b"other bytes", b"the bytes, and more"], ids=["other", "longer"])
def test_other_bytes_are_refused(user: ApiUser, path: str, sent: bytes) -> None:
    file = announced(user, path, b"the bytes..")
    refused = put(file["upload"], sent, **{"Content-Length": str(len(sent))})
    assert problem_code(refused) == "file_mismatch"
    assert problem_code(user.http.get(f"{path}/{file['id']}")) == "unknown_file"


def test_a_changed_url_is_refused(user: ApiUser, path: str) -> None:
    upload = announced(user, path, b"the bytes")["upload"]
    where, _, signature = upload["url"].rpartition(".")
    other = "0" if signature[0] != "0" else "1"
    assert problem_code(put(upload | {"url": f"{where}.{other}{signature[1:]}"}, b"the bytes")) == "upload_refused"
    assert problem_code(put(upload | {"url": f"{where}x.{signature}"}, b"the bytes")) == "upload_refused"
    assert problem_code(httpx.put(upload["url"].replace("uploads/", "uploads/%00"), content=b"x")) == "upload_refused"


def test_a_cut_upload_leaves_nothing(user: ApiUser, path: str, server: Server) -> None:
    content = b"y" * 500_000
    file = announced(user, path, content)
    with begun(file["upload"]["url"], len(content)) as connection:
        connection.sendall(content[:300_000])
        eventually(lambda: any(server.directory.files.joinpath("incoming").iterdir()))
    eventually(lambda: not any(server.directory.files.joinpath("incoming").iterdir()))
    assert problem_code(user.http.get(f"{path}/{file['id']}")) == "unknown_file"


def test_many_uploads_at_once_leave_room_for_requests(user: ApiUser, path: str, server: Server) -> None:
    """Together they are larger than what requests may hold: only what waits for the disk counts."""
    connections = []
    try:
        for number in range(8):
            content = bytes([number]) * LARGE
            connection = begun(announced(user, path, content)["upload"]["url"], LARGE)
            connections.append(connection)
            for start in range(0, LARGE - len(PIECE), len(PIECE)):
                connection.sendall(content[start : start + len(PIECE)])
        assert user.http.get("/health").status_code == 200
        for number, connection in enumerate(connections):
            connection.sendall(bytes([number]) * len(PIECE))
            assert b" 204 " in connection.recv(4096).split(b"\r\n")[0]
    finally:
        for connection in connections:
            connection.close()


def begun(url: str, size: int) -> socket.socket:
    where = urlsplit(url)
    connection = socket.create_connection((str(where.hostname), int(where.port or 0)), timeout=20)
    head = f"PUT {where.path} HTTP/1.1\r\nHost: {where.netloc}\r\nContent-Length: {size}\r\n\r\n"
    connection.sendall(head.encode())
    return connection
