"""What a function imports is what its users wait for: chat SDKs and agents load only where they are used."""

import subprocess
import sys

import pytest

CHAT_SDKS = {"telegram", "slack_sdk", "discord", "telegramify_markdown"}
AGENTS = {"shared.agents.rehearsal", "shared.agents.openai", "shared.agents.bedrock", "shared.agents.http"}
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
