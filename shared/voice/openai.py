"""Words from a server that speaks OpenAI's API of transcriptions."""

import json
import ssl
import time
from collections.abc import Callable
from functools import cached_property

import httpx

from shared.errors import NotTranscribed
from shared.ports.secrets import Secrets
from shared.ports.transcriber import LONGEST_WORDS, Recording, checked_words

KEY = "agent/voice_key"
"""Below `agent/`: only the process that runs the agent may read it."""
OPENAI = "https://api.openai.com/v1"
_CONNECT_SECONDS = 5.0
_LARGEST = 16 * LONGEST_WORDS
"""Bytes of an answer: each character may be an escape sequence."""
_LATE = "the transcriber did not answer in time"
_AWAY = "the transcriber does not answer"
_ODD = "the transcriber's answer cannot be read"


class OpenAITranscriber:
    """Posts to `<url>/audio/transcriptions`. The key is read when it is needed."""

    def __init__(self, url: str, model: str, secrets: Secrets, *, now: Callable[[], float] = time.monotonic) -> None:
        self._url, self._model, self._secrets, self._now = (url or OPENAI).rstrip("/"), model, secrets, now

    def words(self, recording: Recording, *, seconds: float) -> str:
        end = self._now() + seconds
        key = (self._secrets.get(KEY) or "").strip()
        headers = {"authorization": f"Bearer {key}"} if key.isascii() and key.isprintable() and key else {}
        about = {"model": self._model, "response_format": "json"}
        timeout = httpx.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS))
        try:
            with (
                recording.path.open("rb") as content,
                self._client(timeout) as client,
                client.stream(
                    "POST",
                    f"{self._url}/audio/transcriptions",
                    data=about,
                    files={"file": (recording.name, content, recording.media_type)},
                    headers=headers,
                ) as answer,
            ):
                body = self._read(answer, end)
        except httpx.TimeoutException as error:
            raise NotTranscribed(_LATE) from error
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            raise NotTranscribed(_AWAY) from error
        if not answer.is_success:
            raise NotTranscribed(f"the transcriber refused it (HTTP {answer.status_code})")
        return _words_of(body)

    def _read(self, answer: httpx.Response, end: float) -> bytes:
        """The body; its end does not come later than allowed, however slowly it drips."""
        body = b""
        for piece in answer.iter_bytes():
            body += piece
            if len(body) > _LARGEST:
                raise NotTranscribed(_ODD)
            if self._now() > end:
                raise NotTranscribed(_LATE)
        return body

    def _client(self, timeout: httpx.Timeout) -> httpx.Client:
        """For one request: Lambda freezes the process between two. No proxy for servers on this machine."""
        local = dict.fromkeys(("all://localhost", "all://127.0.0.1", "all://[::1]"))
        return httpx.Client(verify=self._context, mounts=local, timeout=timeout)

    @cached_property
    def _context(self) -> ssl.SSLContext:
        return httpx.create_ssl_context()


def _words_of(body: bytes) -> str:
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise NotTranscribed(_ODD) from error
    words = checked_words(answer.get("text")) if isinstance(answer, dict) else None
    if words is None:
        raise NotTranscribed(_ODD)
    return words
