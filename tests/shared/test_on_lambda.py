"""A Lambda handler redacts errors in its logs, whenever logging is configured."""

import subprocess
import sys

import pytest

WORDS = "what somebody said"
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "as Lambda sets them",
    "AWS_SECRET_ACCESS_KEY": "as Lambda sets them",
    "AWS_DEFAULT_REGION": "us-east-1",
    "HANDOFFS_TABLE": "handoffs",
    "SESSIONS_TABLE": "sessions",
}
LOGGING = "logging.getLogger().addHandler(logging.StreamHandler(sys.stdout))"
LOADING = """
def build(services):
    print("built")
    def handle(event, context):
        logging.getLogger("httpx").info("a URL with " + event)
        logging.getLogger("ours").info("at work")
        try:
            raise KeyError(event)
        except KeyError:
            logging.getLogger("ours").exception("broken")
    return handle

handler = on_lambda(build)
"""
ORDERS = {
    "as on Lambda": ("on-demand", LOGGING, LOADING),
    "ahead of events": ("provisioned-concurrency", LOGGING, LOADING),
    "in a fork of what was loaded": ("provisioned-concurrency", LOADING, LOGGING),
}


@pytest.mark.parametrize("order", ORDERS)
def test_logs_of_its_first_event_hold_no_word_of_an_error(order: str) -> None:
    kind, *steps = ORDERS[order]
    parts = ["import logging, sys", "from shared.bootstrap import on_lambda", *steps]
    code = "\n".join([*parts, "print('loaded')", "handler(sys.argv[1], None)"])
    environment = {**ENVIRONMENT, "AWS_LAMBDA_INITIALIZATION_TYPE": kind}
    done = subprocess.run(
        [sys.executable, "-c", code, WORDS], capture_output=True, text=True, check=True, env=environment
    )

    lines = done.stdout.splitlines()
    assert lines.index("built") - lines.index("loaded") == (1 if kind == "on-demand" else -1)
    assert "at work" in lines
    assert "broken" in lines
    assert "KeyError" in done.stdout
    assert WORDS not in done.stdout + done.stderr
