"""The table of REST calls, by method and path."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from local.chats.discord.wire import errors, payloads, server
from local.chats.discord.wire.channels import Channels
from local.chats.discord.wire.commands import Commands
from local.chats.discord.wire.interactions import Interactions
from local.chats.discord.wire.threads import Threads
from local.chats.simulator.backend import Backend
from local.chats.simulator.faults import Operation

JSON = dict[str, Any]


@dataclass(frozen=True)
class Input:
    """The ids in the path of a call, its JSON body, its query string."""

    ids: Mapping[str, str]
    body: JSON
    query: JSON


@dataclass(frozen=True)
class Call:
    """One entry of the table. `act` returns the JSON of the answer, or None for 204."""

    method: str
    path: str
    operation: Operation
    act: Callable[[Input], Any]
    status: int = 200
    with_token: bool = True  # interactions have their token in the path instead

    def match(self, method: str, path: str) -> Mapping[str, str] | None:
        if method != self.method:
            return None
        found = re.fullmatch(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", self.path), path)
        return found.groupdict() if found else None


def calls(
    backend: Backend, channels: Channels, threads: Threads, interactions: Interactions, commands: Commands
) -> list[Call]:
    return [
        *_account(backend),
        *_guild(backend, channels, threads),
        *_channels(channels),
        *_threads(threads),
        *_interactions(interactions),
        *_commands(commands),
    ]


def _account(backend: Backend) -> list[Call]:
    def application(_: Input) -> JSON:
        public_key = backend.secret("public_key")
        return server.application(backend, public_key, backend.webhook())

    def gateway(_: Input) -> JSON:
        return {"url": f"{backend.base_url().replace('http', 'ws', 1)}/discord/gateway"}

    def gateway_bot(call: Input) -> JSON:
        limit = {"total": 1000, "remaining": 1000, "reset_after": 0, "max_concurrency": 1}
        return gateway(call) | {"shards": 1, "session_start_limit": limit}

    return [
        Call("GET", "/users/@me", "read", lambda _: payloads.me(backend)),
        Call("GET", "/applications/@me", "read", application),
        Call("GET", "/oauth2/applications/@me", "read", application),
        Call("GET", "/gateway", "read", gateway, with_token=False),
        Call("GET", "/gateway/bot", "read", gateway_bot),
    ]


def _guild(backend: Backend, channels: Channels, threads: Threads) -> list[Call]:
    def here(call: Input) -> None:
        if call.ids["guild"] != backend.options.guild:
            raise errors.unknown("Guild")

    def guild(call: Input) -> JSON:
        here(call)
        return server.guild(backend)

    def member(call: Input) -> JSON:
        here(call)
        return payloads.member(channels.person(call.ids["user"]))

    return [
        Call("GET", "/guilds/{guild}", "read", guild),
        Call("GET", "/guilds/{guild}/threads/active", "read", lambda _: threads.active()),
        Call("GET", "/guilds/{guild}/members/{user}", "read", member),
        Call("GET", "/users/{user}", "read", lambda c: payloads.user(channels.person(c.ids["user"]))),
    ]


def _channels(channels: Channels) -> list[Call]:
    where, message = "/channels/{channel}", "/channels/{channel}/messages/{message}"
    return [
        Call("GET", where, "read", lambda c: channels.show(c.ids["channel"])),
        Call("GET", f"{where}/messages", "read", lambda c: channels.history(c.ids["channel"], c.query)),
        Call("POST", f"{where}/messages", "send", lambda c: channels.post(c.ids["channel"], c.body)),
        Call("GET", message, "read", lambda c: channels.message(**c.ids)),
        Call("PATCH", message, "edit", lambda c: channels.edit(**c.ids, body=c.body)),
        Call("POST", f"{where}/typing", "typing", lambda c: channels.typing(c.ids["channel"])),
    ]


def _threads(threads: Threads) -> list[Call]:
    where, member = "/channels/{channel}", "/channels/{channel}/thread-members/{user}"

    def from_message(call: Input) -> JSON:
        return threads.from_message(call.ids["channel"], call.ids["message"], call.body)

    return [
        Call("POST", f"{where}/threads", "open_thread", lambda c: threads.from_channel(c.ids["channel"], c.body), 201),
        Call("POST", f"{where}/messages/{{message}}/threads", "open_thread", from_message, 201),
        Call("GET", f"{where}/thread-members", "read", lambda c: threads.members(c.ids["channel"])),
        Call("PUT", member, "edit", lambda c: threads.join(c.ids["channel"], c.ids["user"])),
    ]


def _interactions(interactions: Interactions) -> list[Call]:
    hook, answer = "/webhooks/{application}/{token}", "/interactions/{id}/{token}/callback"
    message = f"{hook}/messages/{{message}}"

    def edit(call: Input) -> JSON:
        return interactions.edit(call.ids["token"], call.ids["message"], call.body)

    return [
        Call("POST", answer, "send", lambda c: interactions.callback(c.ids["token"], c.body), with_token=False),
        Call("POST", hook, "send", lambda c: interactions.follow_up(c.ids["token"], c.body), with_token=False),
        Call("PATCH", message, "edit", edit, with_token=False),
        Call("GET", message, "read", lambda c: interactions.show(c.ids["token"], c.ids["message"]), with_token=False),
        Call(
            *("DELETE", message, "edit"),
            lambda c: interactions.delete(c.ids["token"], c.ids["message"]),
            with_token=False,
        ),
    ]


def _commands(commands: Commands) -> list[Call]:
    return [
        call
        for path in ("/applications/{application}/commands", "/applications/{application}/guilds/{guild}/commands")
        for call in (
            Call("GET", path, "read", lambda _: commands.listed()),
            Call("PUT", path, "edit", lambda c: commands.replace(c.body["commands"])),
            Call("POST", path, "edit", lambda c: commands.add(c.body), 201),
        )
    ]
