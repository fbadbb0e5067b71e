"""Links to places where the platform's own kind of link does not apply: a base that takes chat and thread as a path."""

from urllib.parse import quote

from shared.domain.routes import Place


def below(base: str, place: Place) -> str:
    """`<base>/<chat>/<thread>`, as a page of one's own (the local simulator's, for one) understands it."""
    parts = [place.chat, place.thread] if place.thread else [place.chat]
    return "/".join([base.rstrip("/"), *(quote(part, safe="") for part in parts)])
