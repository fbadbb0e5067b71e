"""Contract of the `Files` port."""

import hashlib
import secrets
from collections.abc import Iterator

import pytest

from shared.aws.files import S3Files
from shared.errors import FileMismatch, FileMissing, UploadRefused
from shared.sqlite.files import DirectoryFiles
from tests.contracts.files.conftest import Case

NOW = 1_800_000_000_000


def key_for(content: bytes, session: str = "s-1", user: str = "ada") -> str:
    return f"{user}/{session}/{hashlib.sha256(content).hexdigest()}"


def store(case: Case, content: bytes, session: str = "s-1", user: str = "ada") -> str:
    key = key_for(content, session, user)
    case.files.put(key, [content[:3], content[3:]], size=len(content), media_type="image/png")
    return key


def test_what_is_put_is_read(case: Case) -> None:
    content = secrets.token_bytes(700_000)
    key = store(case, content)
    assert b"".join(case.files.get(key)) == content
    assert case.files.size(key) == len(content)


def test_an_empty_file_is_a_file(case: Case) -> None:
    assert b"".join(case.files.get(store(case, b""))) == b""


def test_a_repeated_put_changes_nothing(case: Case) -> None:
    assert store(case, b"one") == store(case, b"one")
    assert b"".join(case.files.get(key_for(b"one"))) == b"one"


@pytest.mark.parametrize("sent", [b"other", b"right and more", b"righ"], ids=["other", "longer", "cut"])
def test_other_bytes_are_refused(case: Case, sent: bytes) -> None:
    key = key_for(b"right")
    with pytest.raises(FileMismatch):
        case.files.put(key, [sent], size=5, media_type="text/plain")
    assert case.files.size(key) is None


def test_a_source_that_breaks_leaves_nothing(case: Case) -> None:
    def broken() -> Iterator[bytes]:
        yield b"ri"
        raise OSError("cut")

    with pytest.raises(OSError, match="cut"):
        case.files.put(key_for(b"right"), broken(), size=5, media_type="text/plain")
    assert case.files.size(key_for(b"right")) is None


def test_a_missing_file_is_said_before_its_bytes(case: Case) -> None:
    with pytest.raises(FileMissing):
        case.files.get(key_for(b"nothing"))


def test_a_copy_outlives_what_it_was_made_of(case: Case) -> None:
    source, target = store(case, b"one"), key_for(b"one", "s-2")
    for _ in range(2):
        case.files.copy(source, target)
    case.files.delete("ada/s-1/")
    assert b"".join(case.files.get(target)) == b"one"
    case.files.delete(target)
    assert case.files.size(target) is None


def test_a_missing_file_cannot_be_copied(case: Case) -> None:
    with pytest.raises(FileMissing):
        case.files.copy(key_for(b"nothing"), key_for(b"nothing", "s-2"))
    assert case.files.size(key_for(b"nothing", "s-2")) is None


def test_a_client_uploads(case: Case) -> None:
    key = key_for(b"picture")
    upload = case.files.upload(key, size=7, media_type="image/png", now=NOW)
    assert case.send(upload, b"picture", NOW)
    assert b"".join(case.files.get(key)) == b"picture"


@pytest.mark.parametrize("sent", [b"pictures", b"pictur", b"pictuRe"], ids=["longer", "cut", "other"])
def test_a_client_cannot_upload_other_bytes(case: Case, sent: bytes) -> None:
    key = key_for(b"picture")
    assert not case.send(case.files.upload(key, size=7, media_type="image/png", now=NOW), sent, NOW)
    assert case.files.size(key) is None


def test_an_upload_says_when_it_ends(case: Case) -> None:
    assert case.files.upload(key_for(b"x"), size=1, media_type="image/png", now=NOW).expires_at == NOW + 300_000


def test_an_address_ends(case: Case) -> None:
    """In the directory the service says so; a bucket is told with the signed address when it ends."""
    key = key_for(b"picture")
    upload = case.files.upload(key, size=7, media_type="image/png", now=NOW)
    if isinstance(case.files, DirectoryFiles):
        with pytest.raises(UploadRefused):
            case.send(upload, b"picture", NOW + 300_000)
    if isinstance(case.files, S3Files):
        download = case.files.download_url(key, name="a.png", media_type="image/png", now=NOW)
        assert "X-Amz-Expires=300&" in upload.url
        assert download is not None
        assert "X-Amz-Expires=60&" in download


def test_deletes_one_file_a_session_or_a_user(case: Case) -> None:
    one, two = store(case, b"one"), store(case, b"two")
    other_session, other_user = store(case, b"one", "s-2"), store(case, b"one", "s-1", "adam")
    case.files.delete(one)
    assert [case.files.size(key) for key in (one, two)] == [None, 3]
    case.files.delete("ada/s-1/")
    assert [case.files.size(key) for key in (two, other_session, other_user)] == [None, 3, 3]
    case.files.delete("ada/")
    assert [case.files.size(key) for key in (other_session, other_user)] == [None, 3]


def test_a_repeated_delete_is_no_error(case: Case) -> None:
    key = store(case, b"one")
    for prefix in (key, key, "ada/s-1/", "ada/s-1/"):
        case.files.delete(prefix)
    assert case.files.size(key) is None
