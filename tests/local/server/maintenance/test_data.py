"""`handoff data` on one machine: from a service that runs, into a directory where none does."""

import base64
import json
from pathlib import Path

import pytest

from local.chats import CHATS
from local.server.directory import DataDirectory, Refused
from local.server.maintenance.data import is_simulated
from local.server.service import Server
from shared.domain.routes import Place
from shared.store.transfer.kinds import Kind
from tests.local.server.conftest import ANYWHERE
from tests.local.server.maintenance.conftest import Handoff
from tests.support.chat_thread import ChatThread
from tests.support.server_process import user_of

LOG = b"line\n" * 200_000


def test_a_whole_service_moves_to_another_directory(data: Path, tmp_path: Path, handoff: Handoff) -> None:
    other, file = tmp_path / "other", tmp_path / "export"
    with Server(DataDirectory(data), {}, ANYWHERE) as server:
        thread = ChatThread(user_of(server))
        thread.say("hello", files=[{"name": "run.log", "type": "text/plain", "data": base64.b64encode(LOG).decode()}])
        thread.wait_for("hello")
        (sent,) = [file for said in thread.user.transcript(thread.session_id) for file in said.get("files", ())]
        before, token = thread.session(), server.tokens["owner"]
        exported = handoff("data", "export", file, "--data", data, "--json")
        running = handoff("data", "import", file, "--data", data)
    assert exported.returncode == 0, exported.stderr
    assert (running.returncode, "running" in running.stderr) == (1, True), running.stderr
    assert json.loads(exported.stdout)["counts"]["sessions"] == 1

    unasked = handoff("data", "import", file, "--data", other)
    assert (unasked.returncode, "repeat it with --yes" in unasked.stderr) == (1, True), unasked.stderr
    imported = handoff("data", "import", file, "--data", other, "--yes")
    assert imported.returncode == 0, imported.stderr
    assert "Imported 1 sessions" in imported.stdout
    assert "  owner: " in imported.stdout
    (other / "env").write_text(f"HANDOFF_TOKEN={token}\n")
    with Server(DataDirectory(other), {}, ANYWHERE) as server:
        assert server.tokens["owner"] == token
        thread.user = user_of(server)
        assert thread.session() == before
        assert thread.user.http.get(f"/sessions/{thread.session_id}/files/{sent['id']}").content == LOG

    again = handoff("data", "import", file, "--data", data)
    assert (again.returncode, "Nothing was written" in again.stderr) == (1, True), again.stderr


def test_links_to_simulated_people_stay_behind() -> None:
    """Elsewhere, their ids may be those of real people."""
    for chat in CHATS:
        name, person = chat.name, chat.people["owner"]
        assert is_simulated(Kind.PERSON, {"pk": f"PERSON#{name}#{person}", "sk": "PERSON", "user": "owner"})
        assert is_simulated(Kind.IDENTITY, {"pk": "USER#owner", "sk": f"IDENTITY#{name}#{person}"})
        home = Place(name, chat.homes["owner"]).route
        assert is_simulated(Kind.HOME, {"pk": "USER#owner", "sk": f"HOME#{name}", "route": home})
        assert not is_simulated(Kind.HOME, {"pk": "USER#owner", "sk": f"HOME#{name}", "route": f"{name}:1"})
        assert not is_simulated(Kind.PERSON, {"pk": f"PERSON#{name}#1", "sk": "PERSON", "user": "owner"})


def test_an_account_of_an_imported_user_is_explained(data: Path) -> None:
    with Server(DataDirectory(data), {}, ANYWHERE) as server:
        server.store.accounts.add_identity("anna", "telegram", "77")
    bot = {"TELEGRAM_BOT_TOKEN": "4:secret", "TELEGRAM_USER_ID": "77", "TELEGRAM_API_URL": "http://127.0.0.1:1"}
    with pytest.raises(Refused, match="config set token"), Server(DataDirectory(data), bot, ANYWHERE):
        pass


def test_without_data_or_with_both_sides_nothing_moves(data: Path, handoff: Handoff) -> None:
    missing = handoff("data", "export", "file", "--data", data)
    assert (missing.returncode, "has no database" in missing.stderr) == (1, True)
    both = handoff("data", "export", "file", "--data", data, "--stack", "handoff")
    assert (both.returncode, "name one of them" in both.stderr) == (2, True)
