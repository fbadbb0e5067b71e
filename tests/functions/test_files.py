"""Files over HTTP: no byte, and no yes or no about a digest, for another user or from another session."""

import hashlib
from typing import Any

import httpx
import pytest

from shared.domain.files import StoredFile
from shared.domain.tokens import Scope
from shared.errors import FileMismatch
from shared.use_cases.files.read_file import bytes_for_agent
from tests.support.memory_api import MemoryApi
from tests.support.problems import problem_code

PICTURE = b"a picture"
ID = hashlib.sha256(PICTURE).hexdigest()
ASKED = {"sha256": ID, "size": len(PICTURE), "type": "image/png", "name": "a.png"}


def upload(api: MemoryApi, http: httpx.Client, session_id: str) -> None:
    api.world.files.take(announced(http, session_id)["upload"]["url"].removeprefix("http://test"), PICTURE)


def announced(http: httpx.Client, session_id: str, **other: Any) -> dict[str, Any]:
    answer: dict[str, Any] = (
        http.post(f"/sessions/{session_id}/files", json={**ASKED, **other}).raise_for_status().json()
    )
    return answer


def test_a_file_is_read_as_it_was_uploaded(api: MemoryApi) -> None:
    api.world.session()
    ada = api.client("ada")
    upload(api, ada, "s-1")
    found = ada.get(f"/sessions/s-1/files/{ID}")
    assert found.content == PICTURE
    assert found.headers["content-disposition"] == "attachment; filename*=UTF-8''a.png"
    assert found.headers["x-content-type-options"] == "nosniff"


def test_an_upload_is_asked_for_until_the_bytes_are_there(api: MemoryApi) -> None:
    api.world.session()
    ada = api.client("ada")
    assert announced(ada, "s-1")["upload"] is not None
    assert problem_code(ada.get(f"/sessions/s-1/files/{ID}")) == "unknown_file"
    upload(api, ada, "s-1")
    assert announced(ada, "s-1")["upload"] is None


def test_a_digest_is_known_only_within_its_session(api: MemoryApi) -> None:
    api.world.session("s-1")
    api.world.session("s-2")
    ada = api.client("ada")
    upload(api, ada, "s-1")
    assert announced(ada, "s-2")["upload"] is not None
    assert problem_code(ada.get(f"/sessions/s-2/files/{ID}")) == "unknown_file"


def test_another_user_with_the_same_digest_learns_nothing(api: MemoryApi) -> None:
    api.world.session("s-1")
    upload(api, api.client("ada"), "s-1")
    eve = api.newcomer()
    eve.put("/sessions/s-9", json={})
    assert announced(eve, "s-9")["upload"] is not None
    assert problem_code(eve.get(f"/sessions/s-9/files/{ID}")) == "unknown_file"
    assert problem_code(eve.get(f"/sessions/s-1/files/{ID}")) == "unknown_session"


@pytest.mark.parametrize(
    ("scope", "may_announce", "may_read"),
    [
        (Scope.HANDOFF, True, True),
        (Scope.RUN, True, True),
        (Scope.READ, False, True),
        (Scope.LINK, False, True),
        (Scope.ADMIN, False, False),
    ],
)
def test_what_a_token_may_do_with_files(api: MemoryApi, scope: Scope, *, may_announce: bool, may_read: bool) -> None:
    """One that may not is told so before anything is looked up; one of another user knows no session."""
    api.world.session()
    upload(api, api.client("ada"), "s-1")
    for user, refusal in (("ada", None), ("eve", "unknown_session")):
        client = api.client(user, scope)
        for digest, unknown in ((ID, None), ("0" * 64, "unknown_file")):
            announced = client.post("/sessions/s-1/files", json={**ASKED, "sha256": digest})
            assert refused(announced) == (refusal if may_announce else "missing_scope")
            read = client.get(f"/sessions/s-1/files/{digest}")
            assert refused(read) == ((refusal or unknown) if may_read else "missing_scope")


def refused(answer: httpx.Response) -> str | None:
    return None if answer.is_success else problem_code(answer)


def test_words_that_name_a_foreign_digest_bring_no_byte(api: MemoryApi) -> None:
    """A transcript is what its client says; the bytes are those of its session."""
    api.world.session("s-1")
    upload(api, api.client("ada"), "s-1")
    eve = api.newcomer()
    eve.put("/sessions/s-9", json={})
    named = {"id": ID, "name": "a.png", "type": "image/png", "size": len(PICTURE), "sha256": ID}
    said = {"epoch": 0, "after": 0, "messages": [{"role": "user", "content": "look", "files": [named]}]}
    eve.post("/sessions/s-9/messages", json=said).raise_for_status()
    assert problem_code(eve.get(f"/sessions/s-9/files/{ID}")) == "unknown_file"
    session = api.world.store.sessions.get("s-9")
    assert session is not None
    assert bytes_for_agent(api.world.services, session, StoredFile(ID, "a.png", "image/png", len(PICTURE))) is None


def test_other_bytes_are_not_stored(api: MemoryApi) -> None:
    api.world.session()
    url = announced(api.client("ada"), "s-1")["upload"]["url"].removeprefix("http://test")
    with pytest.raises(FileMismatch):
        api.world.files.take(url, b"a Picture")
    assert api.world.files.stored == {}


def test_a_deleted_session_leaves_no_file_and_no_count(api: MemoryApi) -> None:
    session = api.world.session()
    ada = api.client("ada")
    upload(api, ada, "s-1")
    assert ada.delete("/sessions/s-1").status_code == 204
    assert api.world.files.stored == {}
    assert api.world.store.files.of(session.id) == []
    assert not [item for item in api.snapshot() if "FILE#" in item or '"file_bytes": 9' in item]
