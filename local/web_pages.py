"""Requests from web pages of other origins to a server on this machine."""

from collections.abc import Callable

LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
OTHER_SITES = frozenset({"cross-site", "same-site"})  # same-site: another port of this machine
REFUSAL = "Pages of other origins cannot call this server. Call it as 127.0.0.1 or localhost."


def is_other_page(header: Callable[[str], str | None]) -> bool:
    """Whether a page of another origin sent the request; `header` returns the value of a header, whatever its case.

    A page whose domain resolves to 127.0.0.1 (DNS rebinding) sends that domain as Host. Browsers send Origin with what a
    page can read and with every POST, and Sec-Fetch-Site with all other requests, such as images and links.
    """
    host, origin = header("host") or "", header("origin")
    return (
        not names_this_machine(host)
        or (origin is not None and origin != f"http://{host}")
        or header("sec-fetch-site") in OTHER_SITES
    )


def is_link(header: Callable[[str], str | None]) -> bool:
    """Whether a person followed a link to this machine, as opposed to a page that requests or embeds something."""
    target = (header("sec-fetch-mode"), header("sec-fetch-dest"))
    return names_this_machine(header("host") or "") and header("origin") is None and target == ("navigate", "document")


def names_this_machine(host: str) -> bool:
    """Whether a Host header names this machine."""
    name, _, port = host.rpartition(":")
    return host in LOOPBACK or (name in LOOPBACK and port.isdigit())
