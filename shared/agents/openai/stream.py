"""Read a streamed completion, piece by piece: what was said so far, and in the end the completion as a whole."""

import json
from typing import Any

from shared.agents.answers import said_so_far
from shared.agents.transcript.repair import plain_text
from shared.ports.agents import Listener

STARTS = (b"data:", b"event:", b"id:", b"retry:", b":")
LONGEST_START = max(map(len, STARTS))


def is_stream(body: bytes) -> bool:
    """Whether a body is a stream of events. Some servers ignore that one was asked for, some send none of its headers."""
    return body[:1024].lstrip().startswith(STARTS)


def completion_of(body: bytes) -> dict[str, Any] | None:
    """The completion that a stream amounts to, or `{"error": …}` as it was sent; None if the stream was cut off."""
    stream = CompletionStream(lambda _: None)
    stream.feed(body)
    return stream.end()


class CompletionStream:
    """Server-sent events with the deltas of a completion. Comments, usage and other choices are passed over."""

    def __init__(self, progress: Listener) -> None:
        self._progress = progress
        self._unread = b""
        self._data: list[bytes] = []
        self._text = ""
        self._refusal = ""
        self._calls: list[Any] = []
        self._reason: str | None = None
        self._error: Any = None
        self._is_done = False
        self._is_garbled = False
        self._is_plain: bool | None = None  # not known yet

    @property
    def has_begun(self) -> bool:
        """Whether the model speaks, or the server sends a body in one piece: from then on silence means a lost connection.

        A model that thinks may be silent for minutes after the headers of its answer.
        """
        return bool(self._is_plain or self._text)

    def feed(self, piece: bytes) -> bool:
        """Take the next bytes; True if the completion is complete, whatever may follow."""
        if self._is_plain:
            return False
        self._unread += piece
        if self._is_plain is None:
            self._unread = self._unread.lstrip()
            if len(self._unread) < LONGEST_START:
                return False
            self._is_plain = not is_stream(self._unread)
            return self.feed(b"")
        before = len(self._text)
        *lines, self._unread = self._unread.split(b"\n")
        for line in lines:
            self._line(line.rstrip(b"\r"))
        if len(self._text) > before and (said := said_so_far(self._text)):
            self._progress(said)
        return self._is_done

    def end(self) -> dict[str, Any] | None:
        """The completion, once all of it was fed."""
        self._line(self._unread.rstrip(b"\r"))
        self._line(b"")
        if self._error is not None:
            return {"error": self._error}
        if self._is_garbled or not (self._is_done or self._reason):
            return None
        message = {"content": self._text, "refusal": self._refusal, "tool_calls": self._calls}
        return {"choices": [{"message": message, "finish_reason": self._reason}]}

    def _line(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
        elif not line and self._data:
            data, self._data = self._data, []
            self._event(data)

    def _event(self, data: list[bytes]) -> None:
        """The lines of one event; a server that forgets the blank lines between events sends one in each line."""
        try:
            self._chunk(_parsed(b"\n".join(data)))
        except ValueError:
            if len(data) == 1:
                self._is_garbled = True
                return
            for line in data:
                self._event([line])

    def _chunk(self, chunk: Any) -> None:
        if self._is_done or chunk is _DONE:
            self._is_done = True
            return
        if not isinstance(chunk, dict):
            return
        if chunk.get("error"):
            self._error, self._is_done = chunk["error"], True
            return
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict) and not choice.get("index"):
                self._choice(choice)

    def _choice(self, choice: dict[str, Any]) -> None:
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, dict):
            self._text += _words(delta.get("content"))
            self._refusal += _words(delta.get("refusal"))
            calls = delta.get("tool_calls")
            self._calls += calls if isinstance(calls, list) else []
        if choice.get("finish_reason"):
            self._reason = str(choice["finish_reason"])


_DONE = object()


def _parsed(data: bytes) -> Any:
    """A chunk. Raises ValueError if it is not JSON."""
    return _DONE if data.strip() == b"[DONE]" else json.loads(data)


def _words(content: Any) -> str:
    """The text of a delta, as it is: blanks at its ends belong to the text around it."""
    if isinstance(content, list):
        return "".join(plain_text(part) for part in content if isinstance(part, dict) and "text" in part)
    return plain_text(content)
