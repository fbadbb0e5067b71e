"""No secret reaches the log, also not through libraries."""

import logging

import pytest

from local.chats.relays.redaction import Redaction, quiet


def logged(secret: str) -> str:
    """A line with the secret in its message, its arguments and its traceback, as a handler writes it."""
    try:
        int(f"at https://host/bot{secret}/getMe")
    except ValueError as error:
        given = (type(error), error, error.__traceback__)
        record = logging.LogRecord("x", logging.ERROR, "f", 1, f"{secret}: %s failed", (secret,), given)
    assert Redaction(["s3cret", "s3cret-and-longer", ""]).filter(record)
    return logging.Formatter().format(record)


@pytest.mark.parametrize("secret", ["s3cret", "s3cret-and-longer"])
def test_secrets_are_hidden_in_messages_arguments_and_tracebacks(secret: str) -> None:
    shown = logged(secret)
    assert "s3cret" not in shown
    assert "longer" not in shown
    assert "failed" in shown
    assert "getMe" in shown


def test_libraries_do_not_log_at_debug() -> None:
    logging.getLogger("discord").setLevel(logging.DEBUG)
    quiet("discord", "slack_sdk")
    assert not logging.getLogger("discord.gateway").isEnabledFor(logging.DEBUG)
    assert not logging.getLogger("slack_sdk.socket_mode.aiohttp").isEnabledFor(logging.DEBUG)


def test_a_lost_connection_is_logged_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    quiet("discord", without_traceback="discord.client")
    try:
        int("no number")
    except ValueError:
        logging.getLogger("discord.client").exception("Attempting a reconnect in %.2fs", 1)
    assert [record.getMessage() for record in caplog.records] == ["Attempting a reconnect in 1.00s"]
    assert "Traceback" not in caplog.text


def test_libraries_log_no_more_than_the_program() -> None:
    logging.getLogger("quiet_program").setLevel(logging.WARNING)
    quiet("quiet_program.library")
    assert not logging.getLogger("quiet_program.library").isEnabledFor(logging.INFO)
