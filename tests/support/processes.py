"""Processes that tests start: their signals, session, listening ports and open files."""

import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

LISTEN = "0A"


class Port(NamedTuple):
    """A listening TCP socket."""

    address: str
    number: int


def let_children_be_interrupted() -> None:
    """Programs inherit an ignored SIGINT (a background job, `nohup`, some CI runners), and then Ctrl-C does not end them.

    A handler is not inherited: each program that this process starts from now on begins with the default.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def in_session(session: int) -> list[int]:
    """The running processes of a session."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = entry.read_text().rpartition(")")[2].split()
            if int(fields[3]) == session and fields[0] != "Z":
                found.append(int(entry.parent.name))
    return sorted(found)


def open_files(pids: Iterable[int]) -> set[str]:
    """The paths of all file descriptors; a socket is `socket:[inode]`."""
    found = set()
    for pid in pids:
        for descriptor in Path(f"/proc/{pid}/fd").glob("*"):
            with suppress(OSError):
                found.add(str(descriptor.readlink()))
    return found


def listening(pids: Iterable[int]) -> list[Port]:
    """The TCP ports on which the processes accept connections, IPv6 included."""
    sockets = open_files(pids)
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            _, local, _, state, *rest = line.split()
            if state == LISTEN and f"socket:[{rest[5]}]" in sockets:
                address, number = local.split(":")
                found.add(Port(_readable(address), int(number, 16)))
    return sorted(found)


def environment(pid: int) -> dict[str, str]:
    """The environment variables with which a process began."""
    pairs = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return dict(os.fsdecode(pair).split("=", 1) for pair in pairs if b"=" in pair)


def _readable(address: str) -> str:
    """The kernel prints IPv4 addresses as a number in the byte order of the machine."""
    return ".".join(str(byte) for byte in reversed(bytes.fromhex(address))) if len(address) == 8 else address
