"""The user at the other end of a loopback connection."""

import os
import socket
import struct
from pathlib import Path

CONNECTIONS = Path("/proc/net/tcp")


def is_this_user(connection: socket.socket) -> bool:
    """Whether the other end belongs to the user of this process. True where the system does not tell (not Linux)."""
    if not CONNECTIONS.exists():
        return True
    theirs, ours = (_written(address) for address in (connection.getpeername(), connection.getsockname()))
    for line in CONNECTIONS.read_text().splitlines()[1:]:
        _, local, remote, _, _, _, _, uid, *_ = line.split()
        if (local, remote) == (theirs, ours):
            return int(uid) == os.getuid()
    return False


def _written(address: tuple[str, int]) -> str:
    """An address as the kernel prints it: the IP in the byte order of the machine."""
    host, port = address
    (number,) = struct.unpack("=I", socket.inet_aton(host))
    return f"{number:08X}:{port:04X}"
