"""Links to a page other than the platform's, such as the local simulator's."""

from urllib.parse import quote

from shared.domain.routes import Place


def below(base: str, place: Place) -> str:
    """`<base>/<chat>/<thread>`."""
    parts = [place.chat, place.thread] if place.thread else [place.chat]
    return "/".join([base.rstrip("/"), *(quote(part, safe="") for part in parts)])
