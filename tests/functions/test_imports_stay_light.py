"""What a function imports is what its users wait for: chat SDKs and agents load only where they are used."""

import subprocess
import sys

import pytest

CHAT_SDKS = {"telegram", "slack_sdk", "discord", "telegramify_markdown"}
AGENTS = {
    "shared.agents.rehearsal.agent",
    "shared.agents.openai.agent",
    "shared.agents.bedrock.agent",
    "shared.agents.http.agent",
}
WEB = {"fastapi", "starlette", "pydantic", "mangum"}

FORBIDDEN = {
    "request": CHAT_SDKS | AGENTS | {"boto3"},
    "status": CHAT_SDKS | AGENTS | {"boto3"},
    "webhook": CHAT_SDKS | AGENTS | {"boto3"},
    "process": CHAT_SDKS | AGENTS | WEB | {"boto3"},
    "turn": CHAT_SDKS | AGENTS | WEB | {"boto3"},
    "sweep": CHAT_SDKS | AGENTS | WEB | {"boto3"},
}


@pytest.mark.parametrize("function", sorted(FORBIDDEN))
def test_importing_a_handler_loads_nothing_that_it_may_not_need(function: str) -> None:
    code = f"import functions.{function}.handler, sys; print('\\n'.join(sys.modules))"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )

    assert f"functions.{function}.handler" in loaded
    assert loaded & FORBIDDEN[function] == set()


LOADED_AHEAD = {
    "request": {"boto3"},
    "status": {"boto3"},
    "webhook": {"boto3"},
    "process": CHAT_SDKS | {"boto3"},
    "turn": CHAT_SDKS | {"boto3"},
    "sweep": set(),
}
AHEAD = {
    "AWS_LAMBDA_INITIALIZATION_TYPE": "provisioned-concurrency",
    "AWS_ACCESS_KEY_ID": "as Lambda sets them",
    "AWS_SECRET_ACCESS_KEY": "as Lambda sets them",
    "AWS_REGION": "us-east-1",
    "AWS_DEFAULT_REGION": "us-east-1",
    "HANDOFFS_TABLE": "handoffs",
    "SESSIONS_TABLE": "sessions",
}
OFFLINE = "import socket, threading; socket.socket.connect = None"


@pytest.mark.parametrize("function", sorted(LOADED_AHEAD))
def test_loaded_ahead_of_events_a_handler_has_what_it_will_need_and_has_called_nobody(function: str) -> None:
    code = f"{OFFLINE}; import functions.{function}.handler, sys; print(threading.active_count(), *sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=AHEAD)
    threads, *loaded = done.stdout.split()

    assert set(loaded) & (CHAT_SDKS | AGENTS | {"boto3"}) == LOADED_AHEAD[function]
    assert threads == "1"  # a fork of it has no others
