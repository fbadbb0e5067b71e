"""`handoff backup` and `handoff restore` as programs, beside a service that runs."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import httpx

from local.server.directory import DataDirectory
from local.server.service import Server
from shared.ports.tables import Put, Table
from shared.sqlite.database import Database
from shared.sqlite.secrets import SqliteSecrets
from shared.sqlite.tables import SqliteTables
from tests.local.server.conftest import ANYWHERE
from tests.local.server.maintenance.conftest import Handoff
from tests.support.api_user import ApiUser
from tests.support.server_process import user_of


def titles(directory: Path) -> list[Any]:
    with Server(DataDirectory(directory), {}, ANYWHERE) as server:
        return [session["title"] for session in user_of(server).sessions()]


def add(user: ApiUser, title: str) -> None:
    assert user.http.put(f"/sessions/{title}", json={"title": title}).is_success


def test_a_backup_of_a_running_service_is_restored_elsewhere(data: Path, tmp_path: Path, handoff: Handoff) -> None:
    target, other = tmp_path / "saved.db", tmp_path / "other"
    with Server(DataDirectory(data), {}, ANYWHERE) as server:
        add(user_of(server), "one")
        saved = handoff("backup", target, "--data", data, "--json")
        add(user_of(server), "two")
        refused = handoff("restore", target, "--data", data)
        assert (refused.returncode, f"process {os.getpid()}" in refused.stderr) == (1, True), refused.stderr

    assert saved.returncode == 0, saved.stderr
    assert json.loads(saved.stdout) == {"file": str(target), "bytes": target.stat().st_size, "secrets": []}
    assert target.stat().st_mode & 0o777 == 0o600

    assert handoff("restore", target, "--data", other).returncode == 0
    assert titles(other) == ["one"]

    restored = handoff("restore", target, "--data", data)
    assert restored.returncode == 0, restored.stderr
    assert "handoff.db.replaced" in restored.stdout
    assert titles(data) == ["one"]


def test_the_names_of_secrets_in_a_backup_are_told(data: Path, tmp_path: Path, handoff: Handoff) -> None:
    data.mkdir()
    database = Database(data / "handoff.db")
    SqliteSecrets(database).set("telegram/bot_token", "4:secret")
    SqliteTables(database).put(Put(Table.HANDOFFS, {"handoff_id": "h"}))
    database.close()

    saved = handoff("backup", "saved.db", "--data", data)

    assert (saved.returncode, "secrets: telegram/bot_token" in saved.stdout) == (0, True), saved.stderr
    assert "4:secret" not in saved.stdout
    assert (tmp_path / "saved.db").is_file()


def test_nothing_is_overwritten_unasked(data: Path, tmp_path: Path, handoff: Handoff) -> None:
    data.mkdir()
    Database(data / "handoff.db").close()
    (tmp_path / "precious").write_text("precious")

    for target, why in (
        ("precious", "add --force"),
        (data, "is a directory"),
        (data / "env", "belongs to the service"),
    ):
        refused = handoff("backup", target, "--data", data, *(["--force"] if target != "precious" else []))
        assert (refused.returncode, why in refused.stderr) == (1, True), refused.stderr
    assert (tmp_path / "precious").read_text() == "precious"
    assert handoff("backup", "precious", "--data", data, "--force").returncode == 0
    assert handoff("restore", data / "handoff.db", "--data", data).returncode == 1


def test_what_is_no_backup_is_refused_with_a_sentence(data: Path, tmp_path: Path, handoff: Handoff) -> None:
    (tmp_path / "text").write_text("hello " * 1000)
    refused = handoff("restore", "text", "--data", data, "--json")
    assert refused.returncode == 1
    assert "is not a database" in json.loads(refused.stdout)["error"]["message"]
    assert "Traceback" not in refused.stderr


def test_without_data_there_is_nothing_to_save(data: Path, handoff: Handoff) -> None:
    refused = handoff("backup", "saved.db", "--data", data)
    assert (refused.returncode, "has no database" in refused.stderr) == (1, True)
    assert not data.exists()


def test_files_go_with_a_backup_and_come_back(data: Path, tmp_path: Path, handoff: Handoff) -> None:
    target, other = tmp_path / "saved.db", tmp_path / "other"
    content = b"a picture, as it were"
    digest = hashlib.sha256(content).hexdigest()
    with Server(DataDirectory(data), {}, ANYWHERE) as server:
        user = user_of(server)
        add(user, "one")
        asked = {"sha256": digest, "size": len(content), "name": "a.png"}
        upload = user.http.post("/sessions/one/files", json=asked).json()["upload"]
        httpx.put(upload["url"], content=content, headers=upload["headers"]).raise_for_status()
        saved = handoff("backup", target, "--data", data)
    assert f"{target}.files" in saved.stdout

    assert handoff("restore", target, "--data", other).returncode == 0

    with Server(DataDirectory(other), {}, ANYWHERE) as server:
        assert user_of(server).http.get(f"/sessions/one/files/{digest}").content == content
    assert {each.stat().st_mode & 0o77 for each in (other / "files").rglob("*")} == {0}
