"""Bedrock's Converse through boto3: one call with its time-out, its failures as plain data."""

import logging
import socket
import threading
from collections.abc import Callable
from contextlib import closing
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    EventStreamError,
    NoCredentialsError,
    NoRegionError,
    ParamValidationError,
)

log = logging.getLogger(__name__)

CONNECT_SECONDS = 10.0
# Failures that boto3 detects itself, as the error codes that the service would return.
_CODES: dict[type[BotoCoreError], str] = {
    NoCredentialsError: "AccessDeniedException",
    NoRegionError: "NoRegion",
    ParamValidationError: "ValidationException",
}


class ConverseFailed(Exception):
    """The call failed: the service's error code (or `Unreachable`), its message, status and headers."""

    def __init__(self, code: str, message: str, *, status: int = 0, headers: dict[str, str] | None = None) -> None:
        super().__init__(code)
        self.code = code
        self.message = message
        self.status = status
        self.headers = headers or {}


class Bedrock:
    """Converse under the function's role. The session is created on the first call."""

    def __init__(self, endpoint: str = "") -> None:
        self._endpoint = endpoint or None
        self._session: Any = None
        self._making = threading.Lock()  # creating clients from one session is not thread-safe

    def converse(
        self,
        request: dict[str, Any],
        *,
        seconds: float,
        opened: Callable[[socket.socket], None],
        on_text: Callable[[str], None] | None = None,
    ) -> dict[str, Any]:
        """One attempt within `seconds`; `opened` gets its connection before anything is sent. Raises ConverseFailed.

        With `on_text` the answer is streamed, and `on_text` gets its text so far; `seconds` then limits each read only.
        """
        try:
            with closing(self._client(seconds)) as client:
                _report_connections(client, opened)
                if on_text is not None:
                    return _joined(client.converse_stream(**request), on_text)
                answer: dict[str, Any] = client.converse(**request)
        except EventStreamError as error:  # in the middle of an answer
            said = error.response.get("Error", {})
            code = str(said.get("Code", ""))
            code = code[:1].upper() + code[1:]  # the same codes, written with a small letter
            status = 400 if code == "ValidationException" else 500
            raise ConverseFailed(code, said.get("Message", ""), status=status) from error
        except ClientError as error:
            said, about = error.response.get("Error", {}), error.response.get("ResponseMetadata", {})
            raise ConverseFailed(
                said.get("Code", ""),
                said.get("Message", ""),
                status=about.get("HTTPStatusCode", 0),
                headers=about.get("HTTPHeaders"),
            ) from error
        except BotoCoreError as error:
            raise ConverseFailed(_CODES.get(type(error), "Unreachable"), str(error)) from error
        except Exception as error:  # boto3 reads answers unchecked: an odd one raises anything
            raise ConverseFailed("Unreachable", "the answer could not be read") from error
        return answer

    def _client(self, seconds: float) -> Any:
        """A client with this turn's time-out, which boto3 cannot set per call. The session caches what is slow to load."""
        config = Config(
            connect_timeout=min(seconds, CONNECT_SECONDS),
            read_timeout=seconds,
            retries={"total_max_attempts": 1},  # the caller retries, within the turn's deadline
        )
        with self._making:
            if self._session is None:
                logging.getLogger("botocore").setLevel(logging.WARNING)  # at DEBUG it logs the messages
                self._session = boto3.session.Session()
            return self._session.client("bedrock-runtime", endpoint_url=self._endpoint, config=config)


def _joined(answer: dict[str, Any], on_text: Callable[[str], None]) -> dict[str, Any]:
    """A streamed answer as Converse gives it in one piece. Without its end, it has no output."""
    text, reason = "", None
    with closing(answer["stream"]) as events:
        for event in events:
            if delta := event.get("contentBlockDelta", {}).get("delta", {}).get("text"):
                text += delta
                on_text(text)
            reason = event.get("messageStop", {}).get("stopReason") or reason
    return {"output": {"message": {"content": [{"text": text}]}}, "stopReason": reason} if reason else {}


def _report_connections(client: Any, opened: Callable[[socket.socket], None]) -> None:
    """Call `opened` with each connection of the client.

    botocore has no public way to its sockets. In a version that stores its pool classes elsewhere, a call that is
    cancelled is only abandoned: Bedrock sees the connection close when the call's time is up.
    """
    try:
        pools: dict[str, Any] = client._endpoint.http_session._pool_classes_by_scheme  # noqa: SLF001
        pools.update({scheme: _reporting(pool, opened) for scheme, pool in pools.items()})
    except AttributeError:
        log.warning("this version of botocore does not show its connections; cancelled calls are only abandoned")


def _reporting(pool: Any, opened: Callable[[socket.socket], None]) -> Any:
    """A pool class whose connections call `opened` when TCP is connected, before TLS."""
    plain = pool.ConnectionCls

    def connect(self: Any) -> socket.socket:
        made: socket.socket = plain._new_conn(self)  # noqa: SLF001
        opened(made)
        return made

    reporting = type(plain.__name__, (plain,), {"_new_conn": connect})
    return type(pool.__name__, (pool,), {"ConnectionCls": reporting})
