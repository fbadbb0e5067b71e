"""`python -m local.chats.relays PLATFORM --url URL`: run one relay until it is stopped."""

import argparse
import logging
import os
import signal
import sys
from collections.abc import Iterable, Mapping, Sequence

from local.chats import CHATS
from local.chats.relays.base import Relay
from local.chats.relays.configuration import make_relay, missing, secrets_from
from local.chats.relays.redaction import Redaction, quiet

STOPPED, GAVE_UP = 0, 1


def main(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Exit codes: 0 after SIGINT or SIGTERM, 1 if retries cannot help, 2 for wrong usage."""
    parser = argparse.ArgumentParser(prog="python -m local.chats.relays", description=__doc__)
    relays = {chat.name: chat.relay for chat in CHATS if chat.relay}
    parser.add_argument("platform", choices=sorted(relays))
    parser.add_argument("--url", required=True, help="the service's URL; events go to URL/webhooks/PLATFORM")
    parser.add_argument("--api-url", help="the platform's API, if not the real one")
    options = [option for relay in relays.values() for option in relay.options]
    for option in options:
        action = "store_true" if option.is_flag else "store"
        parser.add_argument(option.flag, dest=option.name, action=action, help=option.help)
    parser.add_argument("--log-level", default="INFO", choices=["DEBUG", "INFO", "WARNING", "ERROR"])
    given = parser.parse_args(arguments)
    secrets = secrets_from(environment, CHATS)
    if unset := missing(relays[given.platform].secrets, secrets):
        parser.error(f"set {' and '.join(unset)} in the environment first")
    _log_to_stderr(given.log_level, secrets.values())
    (chat,) = (chat for chat in CHATS if chat.name == given.platform)
    chosen = {option.name: getattr(given, option.name) for option in options}
    return _run(make_relay(chat, given.url, secrets, api_url=given.api_url, options=chosen))


def _run(relay: Relay) -> int:
    log = logging.getLogger("local.chats.relays")
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, lambda *_: relay.stop())
    log.info("the %s relay starts", relay.platform)
    relay.start()
    while not relay.wait(1):
        continue
    if relay.problem:
        return GAVE_UP
    log.info("the %s relay has stopped", relay.platform)
    return STOPPED


def _log_to_stderr(level: str, secrets: Iterable[str]) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(Redaction(secrets))
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    logging.basicConfig(level=level, handlers=[handler])
    quiet("aiohttp", "asyncio")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
