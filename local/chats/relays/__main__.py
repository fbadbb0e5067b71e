"""`python -m local.chats.relays PLATFORM --url URL`: one relay until it is stopped."""

import argparse
import logging
import os
import signal
import sys
from collections.abc import Mapping, Sequence

from local.chats.relays.configuration import NEEDED, RelaySettings, Target, make_relay
from local.chats.relays.redaction import Redaction, quiet_libraries
from local.chats.relays.relay import Relay

STOPPED, GAVE_UP = 0, 1


def main(arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run until SIGINT or SIGTERM (0), or until no retry will help (1); wrong usage is 2."""
    parser = argparse.ArgumentParser(prog="python -m local.chats.relays", description=__doc__)
    parser.add_argument("platform", choices=sorted(NEEDED))
    parser.add_argument("--url", required=True, help="the service's URL; events go to URL/webhooks/PLATFORM")
    parser.add_argument("--api-url", help="the platform's API, if not the real one")
    parser.add_argument("--gateway-url", help="Discord's Gateway, if not the real one")
    parser.add_argument(
        "--replace-webhook", action="store_true", help="Telegram: remove the webhook that is set for the bot"
    )
    parser.add_argument("--log-level", default="INFO", choices=["DEBUG", "INFO", "WARNING", "ERROR"])
    given = parser.parse_args(arguments)
    settings = RelaySettings.from_environment(environment)
    if missing := settings.missing(given.platform):
        parser.error(f"set {' and '.join(missing)} in the environment first")
    _log_to_stderr(given.log_level, settings)
    target = Target(given.url, given.api_url, given.gateway_url, given.replace_webhook)
    return _until_stopped(make_relay(given.platform, target, settings))


def _until_stopped(relay: Relay) -> int:
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


def _log_to_stderr(level: str, settings: RelaySettings) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(Redaction(settings.hidden))
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    logging.basicConfig(level=level, handlers=[handler])
    quiet_libraries()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], os.environ))
