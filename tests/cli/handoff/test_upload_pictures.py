"""Pictures of a transcript are stored with its session, and can be read there; what is refused is counted."""

from dataclasses import replace

from handoff_cli.handoff.upload_pictures import upload_pictures
from handoff_cli.transcripts.pictures import Picture, pictures_in
from tests.cli.conftest import User
from tests.cli.readers.test_pictures import CODEX_IMAGE, DIGEST, PNG
from tests.support.one_machine import OneMachine


def test_a_picture_is_stored_once_and_read_back(user: User, service: OneMachine) -> None:
    session_id, pictures = user.session(), pictures_in([CODEX_IMAGE])
    assert upload_pictures(user.api, session_id, pictures) == 0
    assert upload_pictures(user.api, session_id, pictures) == 0
    (item,) = service.store.files.of(session_id)
    assert (item.file.id, item.file.size, item.file.media_type) == (DIGEST, len(PNG), "image/png")
    assert b"".join(service.engine.files.get(item.key)) == PNG


def test_a_picture_that_cannot_be_stored_is_counted(user: User) -> None:
    (picture,) = pictures_in([CODEX_IMAGE])
    other = Picture({**picture.entry, "sha256": "0" * 64}, PNG)
    large = replace(picture, entry={**picture.entry, "sha256": "1" * 64, "size": 26_000_000})
    assert upload_pictures(user.api, user.session(), [other, large]) == 2
