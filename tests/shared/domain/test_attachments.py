"""Attachments in words."""

import pytest

from shared.domain.attachments import KINDS, Attachment, cannot_read, counted, kind_of_media, note_for_agent


@pytest.mark.parametrize(
    ("kinds", "line", "note"),
    [
        (["picture"], "pictures", "a picture was"),
        (["picture", "picture"], "pictures", "2 pictures were"),
        (["file", "picture", "file"], "files and pictures", "2 files and a picture were"),
        (["voice", "poll", "video"], "voice messages, polls and videos", "a voice message, a poll and a video were"),
        (["other", "other"], "messages of this kind", "something that is not text was"),
    ],
)
def test_sender_and_agent_are_told_the_kinds(kinds: list[str], line: str, note: str) -> None:
    attachments = counted(kinds)

    assert cannot_read(attachments, has_text=False) == f"I cannot read {line} yet. Write it as text."
    assert cannot_read(attachments, has_text=True).startswith(f"I cannot read {line} yet: ")
    assert note_for_agent(attachments) == f"[{note} attached, which did not reach you]"


def test_without_attachments_there_is_no_note() -> None:
    assert counted([]) == ()
    assert note_for_agent(()) == ""


def test_every_kind_has_its_words() -> None:
    for kind in KINDS:
        assert KINDS[kind][1] in cannot_read([Attachment(kind)], has_text=False)


@pytest.mark.parametrize(
    ("media_type", "kind"),
    [
        ("image/png", "picture"),
        ("audio/ogg; codecs=opus", "audio"),
        ("text/plain", "file"),
        (None, "file"),
        (7, "file"),
    ],
)
def test_a_media_type_tells_the_kind(media_type: object, kind: str) -> None:
    assert kind_of_media(media_type) == kind


@pytest.mark.parametrize(("kind", "count"), [("hologram", 1), ("picture", 0)])
def test_an_unknown_kind_and_none_are_refused(kind: str, count: int) -> None:
    with pytest.raises(ValueError, match="not an attachment"):
        Attachment(kind, count)
