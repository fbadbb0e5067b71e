"""What a platform asks of a webhook before it sends events there."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import ClientError, ClientSession, ClientTimeout

TIMEOUT_SECONDS = 3.0


@dataclass(frozen=True)
class Handshake:
    """Whether the webhook was accepted; `detail` says what it answered, for a person."""

    ok: bool
    detail: str


async def ask(url: str, body: bytes, headers: Mapping[str, str]) -> tuple[int | None, Any]:
    """One question: the answer's status and JSON (or text), or no status when nobody answered."""
    headers = {"Content-Type": "application/json", **headers}
    try:
        async with (
            ClientSession(timeout=ClientTimeout(total=TIMEOUT_SECONDS)) as session,
            session.post(url, data=body, headers=headers) as response,
        ):
            text = await response.text()
    except (ClientError, TimeoutError, OSError):
        return None, None
    try:
        return response.status, json.loads(text)
    except ValueError:
        return response.status, text
