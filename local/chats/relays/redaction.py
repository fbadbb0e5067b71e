"""No token in any log line, whoever wrote the line."""

import logging
from collections.abc import Iterable

HIDDEN = "[hidden]"


class Redaction(logging.Filter):
    """Hides secrets in messages, arguments and tracebacks; put it on handlers, as those see what libraries log too."""

    def __init__(self, secrets: Iterable[str]) -> None:
        super().__init__()
        self._secrets = sorted({secret for secret in secrets if secret}, key=len, reverse=True)

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = self.redact(record.getMessage()), None
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = self.redact(record.exc_text)
        if record.stack_info:
            record.stack_info = self.redact(record.stack_info)
        return True

    def redact(self, text: str) -> str:
        """The text without any of the secrets."""
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        return text


class _WithoutTrace(logging.Filter):
    """One line for a lost connection: where in the library it was noticed tells a person nothing."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.exc_info = record.exc_text = None
        return True


_WITHOUT_TRACE = _WithoutTrace()


def quiet_libraries() -> None:
    """Keep the SDKs from logging what they carry: at DEBUG they write whole events, and with them what people say."""
    for name in ("discord", "slack_sdk", "aiohttp", "asyncio"):
        logger = logging.getLogger(name)
        if logger.level < logging.INFO:
            logger.setLevel(logging.INFO)
    for name in ("discord.client", "slack_sdk.socket_mode.aiohttp"):
        logging.getLogger(name).addFilter(_WITHOUT_TRACE)  # once: a logger takes a filter only once
