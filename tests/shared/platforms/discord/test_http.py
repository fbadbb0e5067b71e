"""Calls through discord.py: one attempt, no long sleep, and an error that says what is known."""

import socket
import time
from collections.abc import Iterator

import pytest

from shared.domain.routes import Place
from shared.errors import Ambiguous, NotSent, PlaceGone, PlatformError, RateLimited, Rejected
from shared.platforms.discord.adapter import Discord
from shared.ports.platforms import Part
from tests.shared.platforms.discord.scripted import ME, Reply, ScriptedDiscord, discord_at

PLACE = Place("discord", "77")
SEND = "POST /channels/77/messages"
SENT = Reply(body={"id": "1001", "channel_id": "77", "content": "hello"})


@pytest.fixture
def server() -> Iterator[ScriptedDiscord]:
    with ScriptedDiscord() as scripted:
        yield scripted


@pytest.fixture
def platform(server: ScriptedDiscord) -> Iterator[Discord]:
    adapter = discord_at(server.url)
    yield adapter
    adapter.close()


def send(platform: Discord, key: str = "t1#0") -> str:
    return platform.send(PLACE, Part("hello @everyone"), key=key)


def test_it_logs_in_once_on_the_first_call(server: ScriptedDiscord, platform: Discord) -> None:
    server.on(SEND, SENT)
    assert server.requests == []
    assert [send(platform), send(platform)] == ["1001", "1001"]
    assert [request.path for request in server.requests].count("/users/@me") == 1
    assert {request.headers["authorization"] for request in server.requests} == {"Bot the-token"}


def test_a_message_has_the_nonce_of_its_key_and_no_mentions(server: ScriptedDiscord, platform: Discord) -> None:
    server.on(SEND, SENT)
    send(platform, "t1#0")
    send(platform, "t1#0")
    send(platform, "t1#1")
    first, again, other = server.bodies(SEND)
    assert first == again
    assert first["nonce"] != other["nonce"]
    assert len(first["nonce"]) <= 25
    assert first["enforce_nonce"] is True
    assert first["allowed_mentions"] == {"parse": []}


@pytest.mark.parametrize("headers", [{"Via": "1.1 google"}, {}], ids=["by Discord", "by its edge"])
def test_a_long_rate_limit_raises_at_once(server: ScriptedDiscord, platform: Discord, headers: dict[str, str]) -> None:
    body = {"message": "You are being rate limited.", "retry_after": 60.5, "global": False}
    server.on(SEND, Reply(429, body, {"Retry-After": "61", **headers}))
    started = time.monotonic()
    with pytest.raises(RateLimited) as limited:
        send(platform)
    assert limited.value.after == 61
    assert time.monotonic() - started < 2
    assert len(server.bodies(SEND)) == 1


def test_a_global_rate_limit_does_not_delay_the_next_call(server: ScriptedDiscord, platform: Discord) -> None:
    body = {"message": "You are being rate limited.", "retry_after": 60, "global": True}
    server.on(SEND, Reply(429, body, {"Retry-After": "60", "Via": "1.1 google"}), SENT)
    with pytest.raises(RateLimited):
        send(platform)
    assert send(platform) == "1001"


def test_a_short_rate_limit_is_waited_for(server: ScriptedDiscord, platform: Discord) -> None:
    server.on(SEND, Reply(429, {"retry_after": 0.05}, {"Retry-After": "0.05", "Via": "1.1 google"}), SENT)
    assert send(platform) == "1001"
    assert len(server.bodies(SEND)) == 2


def test_repeated_short_rate_limits_end_in_an_error(server: ScriptedDiscord, platform: Discord) -> None:
    server.on(SEND, Reply(429, {"retry_after": 0.2}, {"Retry-After": "0.2", "Via": "1.1 google"}))
    with pytest.raises(RateLimited):
        send(platform)
    assert 2 <= len(server.bodies(SEND)) <= 6


def test_an_exhausted_bucket_delays_no_call(server: ScriptedDiscord, platform: Discord) -> None:
    exhausted = {
        "X-RateLimit-Limit": "1",
        "X-RateLimit-Remaining": "0",
        "X-RateLimit-Reset-After": "60",
        "X-RateLimit-Bucket": "b",
    }
    server.on(SEND, Reply(body=SENT.body, headers=exhausted))
    started = time.monotonic()
    assert [send(platform), send(platform)] == ["1001", "1001"]
    assert time.monotonic() - started < 2


@pytest.mark.parametrize("status", [500, 502, 503, 504, 524])
def test_a_server_error_is_ambiguous_and_not_retried(server: ScriptedDiscord, platform: Discord, status: int) -> None:
    server.on(SEND, Reply(status, {"message": "oops", "code": 0}))
    with pytest.raises(Ambiguous):
        send(platform)
    assert len(server.bodies(SEND)) == 1


def test_a_reset_after_the_request_was_sent_is_ambiguous(server: ScriptedDiscord, platform: Discord) -> None:
    server.on(SEND, Reply(cut=True))
    with pytest.raises(Ambiguous):
        send(platform)
    assert len(server.bodies(SEND)) == 1


def test_a_timed_out_answer_is_ambiguous(server: ScriptedDiscord) -> None:
    adapter = discord_at(server.url, call_seconds=0.6)
    server.on(SEND, Reply(hang=True))
    with pytest.raises(Ambiguous):
        send(adapter)
    adapter.close()


def test_all_attempts_of_a_call_end_within_its_limit(server: ScriptedDiscord) -> None:
    adapter = discord_at(server.url, call_seconds=1.5, patience_seconds=60)
    server.on(SEND, Reply(429, {"retry_after": 0.4}, {"Retry-After": "0.4", "Via": "1.1 google"}), Reply(hang=True))
    started = time.monotonic()
    with pytest.raises(Ambiguous):
        send(adapter)
    assert time.monotonic() - started < 2.5
    adapter.close()


def test_a_lost_read_was_not_sent(server: ScriptedDiscord, platform: Discord) -> None:
    server.on("GET /channels/77/messages", Reply(503, {"message": "oops"}))
    with pytest.raises(NotSent):
        platform.find_message(PLACE, key="t1#0")


def test_an_unreachable_discord_was_sent_nothing() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        adapter = discord_at(f"http://127.0.0.1:{free.getsockname()[1]}/api/v10")
        with pytest.raises(NotSent):
            send(adapter)


@pytest.mark.parametrize("reply", [Reply(503), Reply(cut=True)], ids=["5xx", "reset"])
def test_a_failed_login_is_repeated_by_the_next_call(server: ScriptedDiscord, platform: Discord, reply: Reply) -> None:
    server.on("GET /users/@me", reply)
    server.on(SEND, SENT)
    with pytest.raises(NotSent):
        send(platform)
    server.on("GET /users/@me", Reply(body=ME))
    assert send(platform) == "1001"


def test_a_rate_limited_login_says_how_long(server: ScriptedDiscord, platform: Discord) -> None:
    server.on("GET /users/@me", Reply(429, {"retry_after": 9}, {"Retry-After": "9", "Via": "1.1 google"}))
    with pytest.raises(RateLimited) as limited:
        send(platform)
    assert limited.value.after == 9


def test_a_wrong_token_is_final_and_not_in_the_error(server: ScriptedDiscord, platform: Discord) -> None:
    server.on("GET /users/@me", Reply(401, {"message": "401: Unauthorized", "code": 0}))
    with pytest.raises(Rejected) as rejected:
        send(platform)
    assert "the-token" not in str(rejected.value)


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply(404, {"message": "Unknown Channel", "code": 10003}), PlaceGone),
        (Reply(403, {"message": "Missing Access", "code": 50001}), PlaceGone),
        (Reply(403, {"message": "Missing Permissions", "code": 50013}), Rejected),
        (Reply(400, {"message": "Invalid Form Body", "code": 50035}), Rejected),
        (Reply(401, {"message": "401: Unauthorized", "code": 0}), Rejected),
    ],
)
def test_a_refusal_is_final_and_has_a_reason(
    server: ScriptedDiscord, platform: Discord, reply: Reply, kind: type[PlatformError]
) -> None:
    server.on(SEND, reply)
    with pytest.raises(PlatformError) as refused:
        send(platform)
    assert isinstance(refused.value, kind)
    assert isinstance(refused.value, PlaceGone) == (kind is PlaceGone)


def test_typing_never_raises(server: ScriptedDiscord, platform: Discord) -> None:
    server.on("POST /channels/77/typing", Reply(403, {"message": "Missing Access", "code": 50001}))
    platform.typing(PLACE)
    server.on("POST /channels/77/typing", Reply(204))
    platform.typing(PLACE)
    discord_at("http://127.0.0.1:1/api/v10").typing(PLACE)
    assert server.calls == ["POST /channels/77/typing"] * 2


def test_an_edit_replaces_the_text(server: ScriptedDiscord, platform: Discord) -> None:
    server.on("PATCH /channels/77/messages/1001", SENT)
    platform.edit(PLACE, "1001", Part("new"))
    assert server.bodies("PATCH /channels/77/messages/1001") == [
        {"content": "new", "allowed_mentions": {"parse": []}, "components": []}
    ]


def test_a_link_has_the_server_and_reads_it_once(server: ScriptedDiscord, platform: Discord) -> None:
    server.on("GET /channels/77", Reply(body={"id": "77", "type": 11, "guild_id": "800"}))
    assert platform.link(PLACE) == platform.link(PLACE) == "https://discord.com/channels/800/77"
    assert server.calls == ["GET /channels/77"]


def test_a_link_to_a_direct_message_has_no_server(server: ScriptedDiscord, platform: Discord) -> None:
    server.on("GET /channels/77", Reply(body={"id": "77", "type": 1, "recipients": [{"id": "7001"}]}))
    assert platform.link(PLACE) == "https://discord.com/channels/@me/77"


def test_an_unreadable_answer_is_ambiguous(server: ScriptedDiscord, platform: Discord) -> None:
    server.on(SEND, Reply(200, headers={"Content-Type": "application/json"}))
    with pytest.raises(Ambiguous):
        send(platform)


@pytest.mark.parametrize(
    ("channel", "link"),
    [
        ({"id": "77", "type": 11, "guild_id": "800", "parent_id": "60"}, "http://127.0.0.1:8788/#/discord/60/77"),
        ({"id": "77", "type": 0, "guild_id": "800", "parent_id": "5"}, "http://127.0.0.1:8788/#/discord/77"),
        ({"id": "77", "type": 1, "recipients": [{"id": "7001"}]}, "http://127.0.0.1:8788/#/discord/77"),
    ],
    ids=["thread", "channel in a category", "direct message"],
)
def test_another_page_is_linked_by_chat_and_thread(
    server: ScriptedDiscord, channel: dict[str, object], link: str
) -> None:
    adapter = discord_at(server.url, link_url="http://127.0.0.1:8788/#/discord")
    server.on("GET /channels/77", Reply(body=channel))
    assert adapter.link(PLACE) == link
    adapter.close()
