"""What tests of the whole service need to know of one platform."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.support.hostile_webhooks import Samples

Headers = Mapping[str, str]
Secrets = Mapping[str, str]


@dataclass(frozen=True)
class SignedWebhook:
    """One way in which events of a platform reach the service.

    `sign` makes the headers from the platform's secrets, the raw body and the time in seconds. `message` is an event in
    which the owner says `text`; `number` makes it unique. With a `timestamp`, the body and the time are signed.
    `seal` puts a secret into the body, on a platform that signs nothing in the headers. `rest` follows the platform's
    name in the path.
    """

    platform: str
    sign: Callable[[Secrets, bytes, int], Headers]
    message: Callable[[int, str], dict[str, Any]]
    timestamp: bool = True
    seal: Callable[[Secrets, bytes], bytes] = lambda _, raw: raw
    method: str = "POST"
    rest: str = ""

    @property
    def path(self) -> str:
        return f"/webhooks/{self.platform}{self.rest}"

    def signed(self, secrets: Secrets, raw: bytes, second: int) -> tuple[bytes, Headers]:
        """The body as it is sent, and its headers."""
        sealed = self.seal(secrets, raw)
        return sealed, self.sign(secrets, sealed, second)


@dataclass(frozen=True)
class PlatformCase:
    """One platform. `threaded_chats` are the seeded chats that can hold threads, by kind; the first is the home. On a
    platform without threads they are all chats in which handoffs of the owner arrive.

    `mention` matches a text with which the platform notifies a person; `own_mentions` are those that the bot sends
    on purpose. `ignored` are signed events without a message of a person. `samples` are webhooks of every kind.
    `tells_webhook`: its API tells where it posts to.
    """

    name: str
    threaded_chats: Mapping[str, str]
    mention: re.Pattern[str]
    webhooks: Mapping[str, SignedWebhook]
    ignored: Mapping[str, Any]
    samples: Sequence[Samples]
    own_mentions: tuple[str, ...] = ()
    tells_webhook: bool = True
    opens_threads_with: str = "open_thread"  # the simulator's name for the call

    @property
    def home(self) -> str:
        return next(iter(self.threaded_chats.values()))
