"""`python -m local.chats.matrix.set_pusher --url URL`: let the homeserver push the bot's messages to the service."""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence

import httpx

from shared.platforms.matrix import SPEC

DONE, REFUSED = 0, 1


def main(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Exit codes: 0 if the pusher is set, 1 if the homeserver refuses or does not answer, 2 for wrong usage."""
    parser = argparse.ArgumentParser(prog="python -m local.chats.matrix.set_pusher", description=__doc__)
    parser.add_argument("--url", required=True, help="the service's public URL, https://…")
    parser.add_argument("--api-url", default=SPEC.api_url, help=f"the bot's homeserver; without it {SPEC.api_url}")
    parser.add_argument("--remove", action="store_true", help="remove the pusher instead")
    given = parser.parse_args(arguments)
    token, secret = (environment.get(name, "").strip() for name in ("MATRIX_BOT_TOKEN", "MATRIX_WEBHOOK_SECRET"))
    if not token or not secret:
        parser.error("set MATRIX_BOT_TOKEN and MATRIX_WEBHOOK_SECRET in the environment first")
    target = given.url.rstrip("/") + SPEC.webhook_paths[0]
    pusher = {
        "kind": None if given.remove else "http",
        "app_id": "live.handoff",
        "pushkey": secret,
        "app_display_name": "Handoff",
        "device_display_name": "Handoff",
        "lang": "en",
        "data": {"url": target},
    }
    try:
        answer = httpx.post(
            f"{given.api_url.rstrip('/')}/_matrix/client/v3/pushers/set",
            json=pusher,
            headers={"Authorization": f"Bearer {token}"},
            timeout=30,
        )
    except httpx.HTTPError as error:
        sys.stderr.write(f"{given.api_url} did not answer ({type(error).__name__}). Nothing was changed.\n")
        return REFUSED
    if not answer.is_success:
        sys.stderr.write(f"The homeserver refused it ({answer.status_code}): {_reason(answer)}\n")
        return REFUSED
    sys.stdout.write("Removed.\n" if given.remove else f"Messages for the bot are pushed to {target}.\n")
    return DONE


def _reason(answer: httpx.Response) -> str:
    try:
        return str(answer.json()["error"])[:300]
    except (ValueError, LookupError, TypeError):
        return "without a reason that can be read"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
