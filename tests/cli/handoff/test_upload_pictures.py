"""Pictures of a transcript are stored with its session, and can be read there; what is refused is counted."""

from dataclasses import replace

from handoff_cli.handoff.upload_pictures import upload_pictures
from handoff_cli.transcripts.pictures import Picture, pictures_in
from tests.cli.conftest import User
from tests.cli.readers.test_pictures import CODEX_IMAGE, DIGEST, PNG


def stored_session(user: User) -> str:
    return str(user.api.put_session("s-with-pictures", {})["id"])


def test_a_picture_is_stored_once_and_read_back(user: User) -> None:
    session_id, pictures = stored_session(user), pictures_in([CODEX_IMAGE])
    assert upload_pictures(user.api, session_id, pictures) == 0
    assert upload_pictures(user.api, session_id, pictures) == 0
    (item,) = user.service.store.files.of(session_id)
    assert (item.file.id, item.file.size, item.file.media_type) == (DIGEST, len(PNG), "image/png")
    assert b"".join(user.service.engine.files.get(item.key)) == PNG


def test_a_picture_that_cannot_be_stored_is_counted(user: User) -> None:
    (picture,) = pictures_in([CODEX_IMAGE])
    other = Picture({**picture.entry, "sha256": "0" * 64}, PNG)
    large = replace(picture, entry={**picture.entry, "sha256": "1" * 64, "size": 26_000_000})
    assert upload_pictures(user.api, stored_session(user), [other, large]) == 2
