"""Cold starts of the functions, against the floor that boto3 sets: importing it and making one client."""

import hashlib
import hmac
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bench.figures import Figures
from local.chats import CHATS
from local.cloud.cloud import Cloud
from local.cloud.stack import REGION
from local.paths import TEMPLATE, TRANSLATED
from local.service import put_secrets, store_of

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 7
FUNCTIONS = ("request", "status", "webhook", "process", "turn", "agent", "sweep")
FLOOR = "from shared.aws.clients import LazyClient; LazyClient('dynamodb', region_name='x').load()"
WEBHOOK = """\
import json, sys
from functions.webhook.handler import handler
answer = handler(json.load(sys.stdin), None)
sys.exit(0 if answer["statusCode"] == 200 else str(answer))
"""
SECRET = "bench-signing-secret"  # noqa: S105  # of a platform that is not called
LAMBDA_SHARE = 1024 / 1769
"""Of one processor, which a function with 1,024 MB has on Lambda."""


def run(figures: Figures) -> Iterator[str]:
    """Processor time, the least of several rounds: other load on the machine changes it little."""
    floor = best(FLOOR)
    yield f"floor, boto3 and a DynamoDB client: {floor * 1000:.0f} ms of processor time"
    for name in FUNCTIONS:
        figures.note(f"load {name}", best(f"import functions.{name}.handler") / floor)
        yield f"functions.{name}.handler loads in {figures[f'load {name}']:.2f} × that"
    figures.note("load worst", max(figures[f"load {name}"] for name in FUNCTIONS))
    seconds, used = webhook()
    figures.note("webhook cold", seconds)
    figures.note("webhook cold cpu", used)
    figures.note("webhook cold ratio", used / floor)
    figures.note("webhook on lambda", used / LAMBDA_SHARE)
    yield f"webhook, cold: a message of Slack is stored and answered in {seconds:.2f} s, {used:.2f} s of processor time"


def best(code: str) -> float:
    return min(_once(code, {}, "")[1] for _ in range(ROUNDS))


def webhook() -> tuple[float, float]:
    """A new process answers one message: import, SSM, DynamoDB, SQS. Seconds, and seconds of processor time."""
    cloud = Cloud()
    try:
        stack = cloud.deploy(TEMPLATE, {}, name="bench", cache=TRANSLATED)
        (slack,) = (chat for chat in CHATS if chat.name == "slack")
        secrets = dict.fromkeys(slack.spec.secrets, SECRET)
        put_secrets(cloud.engine.client("ssm"), stack.outputs["SecretsPrefix"], secrets)
        store_of(cloud.engine, stack).accounts.add_identity("owner", "slack", slack.people["owner"])
        admin = cloud.engine.admin
        environment = {
            **stack.functions["WebhookFunction"].environment,
            "AWS_ACCESS_KEY_ID": admin.access_key,
            "AWS_SECRET_ACCESS_KEY": admin.secret_key,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ENDPOINT_URL": cloud.engine.url,
        }
        home, person = slack.homes["owner"], slack.people["owner"]
        rounds = [_once(WEBHOOK, environment, json.dumps(_event(home, person, str(n)))) for n in range(ROUNDS)]
    finally:
        cloud.stop()
    return min(seconds for seconds, _ in rounds), min(used for _, used in rounds)


def _event(chat: str, person: str, number: str) -> dict[str, Any]:
    """A message of a person, signed as Slack signs it, as API Gateway passes it on."""
    now = str(int(time.time()))
    said = {"type": "message", "channel": chat, "user": person, "text": "hello", "ts": f"{now}.00010{number}"}
    said |= {"channel_type": "im", "event_ts": said["ts"]}
    body = json.dumps({"type": "event_callback", "event_id": f"Ev{number}", "team_id": "T1", "event": said})
    digest = hmac.new(SECRET.encode(), f"v0:{now}:{body}".encode(), hashlib.sha256).hexdigest()
    event: dict[str, Any] = json.loads((ROOT / "tests/events/http_telegram_webhook.json").read_text())
    headers = {
        "content-type": "application/json",
        "x-slack-request-timestamp": now,
        "x-slack-signature": f"v0={digest}",
    }
    event |= {"rawPath": "/webhooks/slack", "headers": headers, "body": body, "isBase64Encoded": False}
    event["pathParameters"] = {"platform": "slack"}
    event["requestContext"]["http"]["path"] = "/webhooks/slack"
    return event


def _once(code: str, environment: Mapping[str, str], given: str) -> tuple[float, float]:
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"], **environment},
        input=given,
        text=True,
        stdout=subprocess.DEVNULL,
    )
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
