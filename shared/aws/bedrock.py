"""Bedrock's Converse through boto3: one call with its time-out, its failures as plain data."""

import logging
import threading
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, NoRegionError, ParamValidationError
from botocore.parsers import ResponseParserError

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

    def converse(self, request: dict[str, Any], *, seconds: float) -> dict[str, Any]:
        """One attempt within `seconds`. Raises ConverseFailed."""
        try:
            answer: dict[str, Any] = self._client(seconds).converse(**request)
        except ClientError as error:
            said, about = error.response.get("Error", {}), error.response.get("ResponseMetadata", {})
            raise ConverseFailed(
                said.get("Code", ""),
                said.get("Message", ""),
                status=about.get("HTTPStatusCode", 0),
                headers=about.get("HTTPHeaders"),
            ) from error
        except ResponseParserError as error:
            raise ConverseFailed("Unreachable", "the answer is not JSON") from error
        except BotoCoreError as error:
            raise ConverseFailed(_CODES.get(type(error), "Unreachable"), str(error)) from error
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
