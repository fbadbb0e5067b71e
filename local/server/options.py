"""The command line of the server."""

import argparse
import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from local.server.directory import DataDirectory, default_directory
from local.server.service import Address

DESCRIPTION = """\
Runs Handoff on this machine until Ctrl-C, in one process with one database file. Without the token of a bot it offers
simulated chats, to try it. Settings are environment variables, such as HANDOFF_AGENT (docs/agents.md) and the tokens of
bots (docs/platforms)."""


class Invalid(Exception):
    """The options cannot be used together. The text is for a person."""


@dataclass(frozen=True)
class Options:
    """Checked options."""

    directory: DataDirectory
    address: Address
    runs_agents: bool = True


def parse(arguments: Sequence[str], environment: Mapping[str, str]) -> Options:
    """Exits with a usage message for unknown options. Raises Invalid."""
    parser = argparse.ArgumentParser(prog="handoff up", description=DESCRIPTION)
    where = default_directory(environment)
    parser.add_argument("--data", metavar="DIR", type=Path, default=where, help=f"where the data is; default: {where}")
    parser.add_argument("--listen", metavar="HOST:PORT", help="default: 127.0.0.1:8787, or a free port if it is taken")
    parser.add_argument("--public-url", metavar="URL", default="", help="https URL of a reverse proxy in front of it")
    parser.add_argument("--no-runner", action="store_true", help="do not let your own agents on this machine answer")
    given = parser.parse_args(arguments)
    public_url = _public(given.public_url.rstrip("/"))
    host, port = _listen(given.listen) if given.listen else (Address.host, None)
    if not is_loopback(host) and not public_url:
        raise Invalid(
            f"--listen {given.listen} is open to the network, and this server speaks plain http: tokens and messages could "
            "be read. Put a reverse proxy with TLS in front of it and name it with --public-url https://…, or listen on "
            "127.0.0.1."
        )
    return Options(DataDirectory.at(given.data), Address(host, port, public_url), runs_agents=not given.no_runner)


def is_loopback(host: str) -> bool:
    """Whether only this machine can connect there."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _listen(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise Invalid(f"--listen {text} is not of the form HOST:PORT, such as 127.0.0.1:8787 or [::1]:8787.")
    return host, int(port)


def _public(url: str) -> str:
    parts = urlsplit(url)
    if url and (parts.scheme != "https" or not parts.hostname or parts.query or parts.fragment or parts.username):
        raise Invalid(f"--public-url {url} is not of the form https://host. Platforms post messages there, encrypted.")
    return url
