"""Files that an agent wants to send: which are opened, and what is read of them."""

import contextlib
import hashlib
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from handoff_cli.runner.outgoing.opened import NotSendable, OpenedFile, opened

LIMIT = 1_000_000
PNG = b"\x89PNG\r\n\x1a\n" + b"plot" * 10


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    (project / "out").mkdir(parents=True)
    (project / "out" / "plot.png").write_bytes(PNG)
    (tmp_path / "secret.txt").write_text("outside")
    return project


@contextmanager
def sent(project: Path, path: str) -> Iterator[OpenedFile]:
    with opened(project, path, limit=LIMIT) as file:
        yield file


def refusal(project: Path, path: str) -> str:
    with pytest.raises(NotSendable) as why, sent(project, path):
        pass
    return str(why.value)


def test_a_picture_is_described_and_read(project: Path) -> None:
    with sent(project, "out/plot.png") as file:
        about = (file.name, file.path, file.media_type, file.size, file.sha256)
        assert about == ("plot.png", "out/plot.png", "image/png", len(PNG), hashlib.sha256(PNG).hexdigest())
        assert b"".join(file.read()) == b"".join(file.read()) == PNG


def test_an_absolute_path_below_the_directory_is_the_same_file(project: Path) -> None:
    with sent(project, str(project / "out" / "plot.png")) as file:
        assert file.path == "out/plot.png"


def test_a_directory_that_is_reached_by_a_link_is_the_same_one(project: Path) -> None:
    (project.parent / "link").symlink_to(project)
    with opened(project.parent / "link", str(project / "out/plot.png"), limit=LIMIT) as file:
        assert file.path == "out/plot.png"


@pytest.mark.parametrize("path", ["../secret.txt", "out/../../secret.txt", "/etc/passwd", "", ".", "a\0b"])
def test_nothing_outside_the_directory_is_opened(project: Path, path: str) -> None:
    assert "only files below" in refusal(project, path)


def test_no_link_is_followed(project: Path) -> None:
    (project / "file").symlink_to("../secret.txt")
    (project / "inside").symlink_to("out/plot.png")
    (project / "folder").symlink_to("..")
    for path in ("file", "inside", "folder/secret.txt"):
        assert "Links are not followed" in refusal(project, path)


def test_a_file_that_is_swapped_for_a_link_meanwhile_is_still_the_one_that_was_opened(project: Path) -> None:
    path = project / "out" / "plot.png"
    with sent(project, "out/plot.png") as file:
        path.unlink()
        path.symlink_to("../../secret.txt")
        assert b"".join(file.read()) == PNG


@pytest.mark.parametrize("swapped", ["out", "out/plot.png"])
def test_what_is_swapped_for_a_link_all_the_time_never_leads_outside(project: Path, swapped: str) -> None:
    """Another process swaps it between any two calls."""
    (project.parent / "out").mkdir()
    (project.parent / "out" / "plot.png").write_text("outside")
    path, aside, is_over = project / swapped, project / "aside", threading.Event()

    def swap() -> None:
        while not is_over.is_set():
            path.rename(aside)
            path.symlink_to(project.parent / swapped)
            path.unlink()
            aside.rename(path)

    swapping = threading.Thread(target=swap)
    swapping.start()
    read = set()
    try:
        for _ in range(500):
            with contextlib.suppress(NotSendable), sent(project, "out/plot.png") as file:
                read.add(b"".join(file.read()))
    finally:
        is_over.set()
        swapping.join()
    assert read <= {PNG}


def test_a_file_that_grows_meanwhile_is_sent_as_it_was_checked(project: Path) -> None:
    with sent(project, "out/plot.png") as file:
        with (project / "out" / "plot.png").open("ab") as other:
            other.write(b"more")
        assert b"".join(file.read()) == PNG


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        ".env.local",
        ".git/config",
        "sub/.ssh/known",
        ".AWS/x",
        "server.key",
        "cert.PEM",
        "id_rsa",
        ".netrc",
        "production.env",
        ".git-credentials",
        ".claude/x",
    ],
)
def test_private_files_are_not_opened(project: Path, path: str) -> None:
    (project / path).parent.mkdir(parents=True, exist_ok=True)
    (project / path).write_text("harmless")
    assert "may hold secrets" in refusal(project, path)


def test_only_regular_files_are_opened(project: Path) -> None:
    os.mkfifo(project / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(project / "socket"))
        for path, why in [
            ("pipe", "not a regular file"),
            ("out", "not a regular file"),
            ("socket", "cannot be opened"),
        ]:
            assert why in refusal(project, path)
    # A device, by the name of its directory: /dev is no link.
    with pytest.raises(NotSendable, match="not a regular file"), opened(Path("/dev"), "null", limit=LIMIT):
        pass
    assert "no such file" in refusal(project, "missing.png")


def test_a_huge_file_is_refused_before_it_is_read(project: Path) -> None:
    with (project / "huge.bin").open("wb") as file:
        file.truncate(5_000_000_000)  # a hole: nothing is written
    assert refusal(project, "huge.bin") == ("huge.bin was not sent: it has 5000.0 MB, and at most 1.0 MB can be sent.")
    (project / "empty").touch()
    assert "it is empty" in refusal(project, "empty")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_file_with_a_likely_secret_is_refused(project: Path, encoding: str) -> None:
    text = "x" * 1_048_570 + "\nAWS_KEY=AKIAABCDEFGHIJKLMNOP\n"  # over the end of a block
    (project / "log.txt").write_bytes(text.encode(encoding))
    with pytest.raises(NotSendable, match="looks like a secret"), opened(project, "log.txt", limit=10_000_000):
        pass


def test_a_name_does_not_make_a_picture(project: Path) -> None:
    (project / "fake.png").write_text("<html>")
    with sent(project, "fake.png") as file:
        assert file.media_type == "application/octet-stream"
