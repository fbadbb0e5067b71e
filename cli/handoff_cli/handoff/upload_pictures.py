"""Upload the pictures of a transcript beside its messages."""

from collections.abc import Iterable

import httpx

from handoff_cli.api.client import Service
from handoff_cli.api.transport import trust
from handoff_cli.config.sources import is_loopback
from handoff_cli.errors import CliError
from handoff_cli.transcripts.pictures import Picture

_SECONDS = 60.0


def upload_pictures(service: Service, session_id: str, pictures: Iterable[Picture]) -> int:
    """Store them with the session; returns how many could not be stored. The handoff does not depend on them."""
    return sum(not _is_stored(service, session_id, picture) for picture in pictures)


def _is_stored(service: Service, session_id: str, picture: Picture) -> bool:
    try:
        upload = service.announce_file(session_id, picture.entry)["upload"]
        if upload is None:
            return True
        url = str(upload["url"])
        # Another server may take the bytes: it must not get the token.
        with httpx.Client(verify=trust(url), trust_env=not is_loopback(url), timeout=_SECONDS) as client:
            return client.put(url, content=picture.content, headers=upload["headers"]).is_success
    except (CliError, httpx.HTTPError, httpx.InvalidURL, KeyError, TypeError):
        return False
