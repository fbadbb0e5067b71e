"""Addresses: those of this machine, and links to a page other than the platform's own."""

from urllib.parse import quote, urlsplit

from shared.domain.routes import Place


def is_loopback(url: str) -> bool:
    """Whether this address is local to one machine: no platform can post to it, and no proxy leads to it.

    A proxy from the environment is for public addresses, not for a simulator on this machine.
    """
    return urlsplit(url).hostname in ("127.0.0.1", "localhost", "::1")


def link_below(base: str, place: Place) -> str:
    """`<base>/<chat>/<thread>`, on a page such as that of the local simulator."""
    parts = [place.chat, place.thread] if place.thread else [place.chat]
    return "/".join([base.rstrip("/"), *(quote(part, safe="") for part in parts)])
