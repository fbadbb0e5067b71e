"""Slash commands and presses of buttons: sent signed to the application; its answer and follow-ups."""

import json
import secrets
from dataclasses import dataclass
from typing import Any

from nacl.signing import SigningKey

from local.chats.discord.wire import errors, payloads
from local.chats.discord.wire.channels import Channels
from local.chats.discord.wire.commands import Commands
from local.chats.discord.wire.components import BUTTON
from local.chats.discord.wire.gateway import Gateway
from local.chats.simulator.backend import Backend
from local.chats.simulator.deliveries import Policy
from local.chats.simulator.people import BOT, Person
from local.chats.simulator.protocol import Handshake, ask
from local.chats.simulator.store import Chat, Message, Thread

JSON = dict[str, Any]
PING, PONG, MESSAGE, DEFERRED_UPDATE = 1, 1, 4, 6
APPLICATION_COMMAND, MESSAGE_COMPONENT = 2, 3
TOKEN_SECONDS = 900.0
# A time-out of three seconds and no retry: the person sees that the application did not respond.
POLICY = Policy(timeout=3.0, retries=tuple, in_order=False)
_NO_RESPONSE = {"content": "The application did not respond", "flags": payloads.EPHEMERAL}
_FAILED = {"content": "This interaction failed", "flags": payloads.EPHEMERAL}


@dataclass
class Interaction:
    """`token` authenticates answers to it, `until` that time. `pressed` is the message whose button was pressed."""

    id: str
    token: str
    chat: Chat
    thread: Thread | None
    person: Person
    data: JSON
    until: float
    pressed: Message | None = None
    answered: bool = False


class Interactions:
    """The commands that people used and the buttons that they pressed, and the application's ways to answer."""

    def __init__(self, backend: Backend, channels: Channels, gateway: Gateway, commands: Commands) -> None:
        self._backend, self._channels, self._gateway, self._commands = backend, channels, gateway, commands
        self._open: dict[str, Interaction] = {}

    def use(self, chat: Chat, thread: Thread | None, person: Person, name: str, rest: str) -> Message:
        """A person uses a command."""
        interaction = self._begin(chat, thread, person, self._commands.used(name, rest))
        return Message(interaction.id, person.key, f"/{name} {rest}".rstrip(), self._backend.clock())

    def press(self, chat: Chat, thread: Thread | None, person: Person, message: Message, button: str) -> None:
        """A person presses a button of a message."""
        rows = message.extra["components"]
        number = next(c["id"] for row in rows for c in row["components"] if c["custom_id"] == button)
        data = {"component_type": BUTTON, "custom_id": button, "id": number}
        self._begin(chat, thread, person, data, pressed=message)

    def _begin(
        self, chat: Chat, thread: Thread | None, person: Person, data: JSON, *, pressed: Message | None = None
    ) -> Interaction:
        """It goes to the endpoint if one is set, else through the Gateway."""
        until = self._backend.clock() + TOKEN_SECONDS
        number, token = self._channels.next_id(), secrets.token_urlsafe(48)
        interaction = Interaction(number, token, chat, thread, person, data, until, pressed)
        self._open[interaction.token] = interaction
        shown = _payload(interaction, self._backend)
        if self._backend.webhook() is None and self._gateway.connected:
            self._gateway.dispatch("INTERACTION_CREATE", shown)
        else:
            self._send(interaction, json.dumps(shown, ensure_ascii=False).encode())
        return interaction

    def _send(self, interaction: Interaction, body: bytes) -> None:
        self._backend.deliver(
            interaction.id,
            body,
            lambda *_: self.signature(body),
            POLICY,
            lane=None,
            answered=lambda answer: self._answered(interaction, answer),
            failed=lambda: self._no_response(interaction),
        )

    def signature(self, body: bytes) -> dict[str, str]:
        """Discord's Ed25519 signature over a fresh timestamp and the raw bytes."""
        timestamp = str(int(self._backend.clock()))
        signed = SigningKey(bytes.fromhex(self._backend.secret("signing_seed"))).sign(timestamp.encode() + body)
        return {"X-Signature-Ed25519": signed.signature.hex(), "X-Signature-Timestamp": timestamp}

    async def verify(self) -> Handshake:
        """PING must be answered with PONG, and a PING with a wrong signature must be rejected."""
        if (url := self._backend.webhook()) is None:
            return Handshake(ok=False, detail="there is no webhook URL yet")
        application = self._backend.options.application
        ping = {"id": self._channels.next_id(), "application_id": application, "type": PING, "version": 1, "token": "x"}
        body = json.dumps(ping).encode()
        status, answer = await ask(url, body, self.signature(body))
        forged, _ = await ask(url, body, {**self.signature(body), "X-Signature-Ed25519": "00" * 64})
        ok = status == 200 and isinstance(answer, dict) and answer.get("type") == PONG and forged == 401
        return Handshake(ok=ok, detail=f"PING was answered with {status}, a forged one with {forged}")

    def callback(self, token: str, body: JSON) -> None:
        """The answer to an interaction by a call: the only way for one that was sent through the Gateway."""
        self._respond(self._by_token(token), body)

    def follow_up(self, token: str, body: JSON) -> JSON:
        interaction = self._by_token(token)
        if not interaction.answered:
            raise errors.unknown("Webhook")
        message = self._write(interaction, body)
        shown = payloads.message(message, interaction.chat, interaction.thread, self._backend)
        return shown | {"webhook_id": self._backend.options.application}

    def _answered(self, interaction: Interaction, answer: bytes) -> None:
        if interaction.answered:
            return  # by a call, before the webhook's answer
        try:
            self._respond(interaction, json.loads(answer))
        except (ValueError, TypeError, AttributeError, errors.DiscordError):
            self._no_response(interaction)

    def _respond(self, interaction: Interaction, body: JSON) -> None:
        if interaction.answered:
            raise errors.DiscordError(400, 40060, "Interaction has already been acknowledged.")
        if body.get("type") == MESSAGE:
            self._write(interaction, body.get("data") or {})
        elif body.get("type") != DEFERRED_UPDATE or not interaction.pressed:
            raise errors.form("type", "BASE_TYPE_CHOICES", "Value must be one of {1, 4, 5, 6, 7, 8, 9, 10, 12}.")
        interaction.answered = True

    def _write(self, interaction: Interaction, body: JSON) -> Message:
        """A message; one for the person who pressed is shown with the pressed message, and does not last."""
        chat, thread, pressed = interaction.chat, interaction.thread, interaction.pressed
        if pressed is None or not int(body.get("flags") or 0) & payloads.EPHEMERAL:
            return self._channels.write(chat, thread, body)
        text = self._channels.content(body)
        self._backend.store.acknowledge(chat, thread, pressed, interaction.person.key, text)
        extra = {"flags": payloads.EPHEMERAL}
        return Message(self._channels.next_id(), BOT, text, self._backend.clock(), extra=extra)

    def _no_response(self, interaction: Interaction) -> None:
        self._write(interaction, _FAILED if interaction.pressed else _NO_RESPONSE)

    def _by_token(self, token: str) -> Interaction:
        interaction = self._open.get(token)
        if interaction is None or self._backend.clock() > interaction.until:
            raise errors.unknown("Webhook")
        return interaction


def _payload(interaction: Interaction, backend: Backend) -> JSON:
    chat, thread = interaction.chat, interaction.thread
    guild_id = backend.options.guild
    where = payloads.thread_channel(chat, thread, backend) if thread else payloads.channel(chat, backend)
    result: JSON = {
        "id": interaction.id,
        "application_id": backend.options.application,
        "type": MESSAGE_COMPONENT if interaction.pressed else APPLICATION_COMMAND,
        "token": interaction.token,
        "version": 1,
        "data": interaction.data,
        "channel_id": where["id"],
        "channel": where,
        "locale": "en-US",
        "entitlements": [],
        "attachment_size_limit": 10_485_760,
        "app_permissions": payloads.ALL_PERMISSIONS,
        "authorizing_integration_owners": {"0": guild_id},
    }
    if interaction.pressed:
        result["message"] = payloads.message(interaction.pressed, chat, thread, backend)
    if chat.kind == "dm":
        return result | {"user": payloads.user(interaction.person), "context": 1}
    return result | {
        "guild_id": guild_id,
        "guild": {"id": guild_id, "locale": "en-US", "features": []},
        "guild_locale": "en-US",
        "member": payloads.member(interaction.person) | {"permissions": payloads.ALL_PERMISSIONS},
        "context": 0,
    }
