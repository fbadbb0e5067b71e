"""A Discord thread is opened once despite any fault, in every kind of channel with threads."""

from collections.abc import Iterator

import pytest

from shared.domain.routes import Place
from shared.errors import Ambiguous, PlaceGone, RateLimited, Rejected, ThreadRefused
from shared.platforms.discord.adapter import Discord
from tests.shared.platforms.discord.scripted import ME, Reply, ScriptedDiscord, discord_at

HOME = Place("discord", "60")
SERVER = {"guild_id": "800"}
DIRECT = {"recipients": [{"id": "7001"}]}
CHANNEL = "GET /channels/60"
SEED = "POST /channels/60/messages"
THREAD = "POST /channels/60/messages/1001/threads"
ALONE = "POST /channels/60/threads"
JOIN = "PUT /channels/1001/thread-members/7"
HISTORY = "GET /channels/60/messages"

TEXT = Reply(body={"id": "60", "type": 0, "guild_id": "800"})
FORUM = Reply(body={"id": "60", "type": 15, "guild_id": "800"})
SEEDED = Reply(body={"id": "1001", "channel_id": "60"})
MADE = Reply(201, {"id": "1001", "type": 11, "parent_id": "60", "guild_id": "800"})
ALREADY = Reply(400, {"message": "A thread has already been created for this message", "code": 160004})
FORBIDDEN = Reply(403, {"message": "Missing Permissions", "code": 50013})
LIMITED = Reply(429, {"retry_after": 60}, {"Retry-After": "60", "Via": "1.1 google"})
LOST = Reply(cut=True)
NONE = Reply(204)


@pytest.fixture
def server() -> Iterator[ScriptedDiscord]:
    with ScriptedDiscord() as scripted:
        scripted.on(CHANNEL, TEXT)
        scripted.on(SEED, SEEDED)
        scripted.on(THREAD, MADE)
        scripted.on(JOIN, NONE)
        yield scripted


@pytest.fixture
def platform(server: ScriptedDiscord) -> Iterator[Discord]:
    adapter = discord_at(server.url)
    yield adapter
    adapter.close()


def open_thread(platform: Discord, title: str = "Handoff — Fix the build", people: tuple[str, ...] = ("7",)) -> Place:
    return platform.open_thread(HOME, title, key="h1", people=people)


def seed_in_history(server: ScriptedDiscord, **more: object) -> dict[str, object]:
    """The seed that the bot posted, as the channel's history shows it."""
    content = server.bodies(SEED)[-1]["content"]
    return {"id": "1001", "author": ME, "content": content, **more}


def test_a_thread_starts_from_a_message_and_has_the_person_in_it(server: ScriptedDiscord, platform: Discord) -> None:
    assert open_thread(platform) == Place("discord", "1001")
    assert server.calls == [CHANNEL, SEED, THREAD, JOIN]
    assert server.bodies(THREAD) == [{"name": "Handoff — Fix the build", "auto_archive_duration": 1440}]
    seed = server.bodies(SEED)[0]
    assert seed["enforce_nonce"] is True
    assert len(seed["nonce"]) <= 25
    assert seed["allowed_mentions"] == {"parse": []}


def test_the_link_of_a_new_thread_needs_no_call(server: ScriptedDiscord, platform: Discord) -> None:
    thread = open_thread(platform)
    before = len(server.calls)
    assert platform.link(thread) == "https://discord.com/channels/800/1001"
    assert len(server.calls) == before


def test_a_repeat_uses_the_nonce_and_the_existing_thread(server: ScriptedDiscord, platform: Discord) -> None:
    first = open_thread(platform)
    server.on(THREAD, ALREADY)
    assert open_thread(platform) == first
    before, after = server.bodies(SEED)
    assert before == after


@pytest.mark.parametrize("broken", [SEED, THREAD])
@pytest.mark.parametrize(("fault", "error"), [(LOST, Ambiguous), (LIMITED, RateLimited), (Reply(502), Ambiguous)])
def test_a_failed_step_raises_and_can_be_repeated(
    server: ScriptedDiscord, platform: Discord, broken: str, fault: Reply, error: type[Exception]
) -> None:
    server.on(broken, fault, SEEDED if broken == SEED else ALREADY)
    with pytest.raises(error):
        open_thread(platform)
    assert open_thread(platform) == Place("discord", "1001")
    assert len({str(body) for body in server.bodies(SEED)}) == 1


def test_without_write_access_a_thread_has_no_seed(server: ScriptedDiscord, platform: Discord) -> None:
    server.on(SEED, FORBIDDEN)
    server.on(ALONE, MADE)
    assert open_thread(platform) == Place("discord", "1001")
    assert server.bodies(ALONE) == [{"name": "Handoff — Fix the build", "auto_archive_duration": 1440, "type": 11}]


@pytest.mark.parametrize("kind", [1, 2, 3, 4, 10, 11, 12, 13])
def test_nothing_is_posted_where_threads_are_impossible(server: ScriptedDiscord, platform: Discord, kind: int) -> None:
    server.on(CHANNEL, Reply(body={"id": "60", "type": kind, **(SERVER if kind not in (1, 3) else DIRECT)}))
    with pytest.raises(ThreadRefused):
        open_thread(platform)
    assert server.calls == [CHANNEL]


@pytest.mark.parametrize("refused", [[THREAD], [SEED, ALONE]])
def test_missing_permission_to_open_threads_is_a_refusal(
    server: ScriptedDiscord, platform: Discord, refused: list[str]
) -> None:
    for call in refused:
        server.on(call, FORBIDDEN)
    with pytest.raises(ThreadRefused):
        open_thread(platform)


def test_a_deleted_home_is_gone(server: ScriptedDiscord, platform: Discord) -> None:
    server.on(CHANNEL, Reply(404, {"message": "Unknown Channel", "code": 10003}))
    with pytest.raises(PlaceGone):
        open_thread(platform)


def test_a_home_that_is_not_a_channel_id_is_rejected(server: ScriptedDiscord, platform: Discord) -> None:
    server.on("GET /channels/general", Reply(400, {"message": "Invalid Form Body", "code": 50035}))
    with pytest.raises(Rejected):
        platform.open_thread(Place("discord", "general"), "t", key="h1", people=())


def test_a_forum_post_is_one_call(server: ScriptedDiscord, platform: Discord) -> None:
    server.on(CHANNEL, FORUM)
    server.on(ALONE, MADE)
    assert open_thread(platform) == Place("discord", "1001")
    assert server.calls == [CHANNEL, ALONE, JOIN]
    body = server.bodies(ALONE)[0]
    assert body["message"]["allowed_mentions"] == {"parse": []}
    assert body["message"]["content"]
    assert "applied_tags" not in body


def test_a_required_forum_tag_is_the_first_open_one(server: ScriptedDiscord, platform: Discord) -> None:
    tags = [{"id": "1", "moderated": True}, {"id": "2", "moderated": False}, {"id": "3", "moderated": False}]
    server.on(CHANNEL, Reply(body={**FORUM.body, "flags": 16, "available_tags": tags}))
    server.on(ALONE, MADE)
    open_thread(platform)
    assert server.bodies(ALONE)[0]["applied_tags"] == ["2"]


def test_a_person_who_cannot_be_added_does_not_fail_the_call(server: ScriptedDiscord, platform: Discord) -> None:
    server.on(JOIN, LIMITED)
    server.on("PUT /channels/1001/thread-members/8", NONE)
    assert open_thread(platform, people=("7", "8")) == Place("discord", "1001")
    assert server.calls[-1] == "PUT /channels/1001/thread-members/8"


@pytest.mark.parametrize("title", ["x" * 300, "🧵" * 300, "", " \n ", "two\nlines", "*_`|~<@7> @everyone"])
def test_a_title_is_cut_to_one_line_and_escaped(server: ScriptedDiscord, platform: Discord, title: str) -> None:
    open_thread(platform, title)
    name = server.bodies(THREAD)[0]["name"]
    assert 1 <= len(name) <= 80
    assert "\n" not in name
    content = server.bodies(SEED)[0]["content"]
    assert "<@7> @everyone" not in content
    assert content.count("\n") == 1


def test_an_interrupted_thread_is_found_by_its_key(server: ScriptedDiscord, platform: Discord) -> None:
    open_thread(platform)
    thread = {"id": "1001", "type": 11}
    other = {"id": "1002", "author": ME, "content": "**Another**\n-# ref 0000"}
    server.on(HISTORY, Reply(body=[other, seed_in_history(server, thread=thread)]))
    assert platform.find_thread(HOME, key="h1") == Place("discord", "1001")
    assert platform.find_thread(HOME, key="h2") is None
    assert server.calls.count(JOIN) == 2


def test_a_seed_without_its_thread_gets_one(server: ScriptedDiscord, platform: Discord) -> None:
    open_thread(platform, "Fix *the* build_now")
    server.on(HISTORY, Reply(body=[seed_in_history(server)]))
    assert platform.find_thread(HOME, key="h1") == Place("discord", "1001")
    first, second = server.bodies(THREAD)
    assert first == second


def test_a_copy_of_a_seed_by_another_author_is_ignored(server: ScriptedDiscord, platform: Discord) -> None:
    open_thread(platform)
    server.on(HISTORY, Reply(body=[seed_in_history(server, author={"id": "7"})]))
    assert platform.find_thread(HOME, key="h1") is None


def test_a_forum_post_is_found_by_its_first_message(server: ScriptedDiscord, platform: Discord) -> None:
    server.on(CHANNEL, FORUM)
    server.on(ALONE, MADE)
    open_thread(platform)
    posts = [
        {"id": "999", "parent_id": "60", "owner_id": "7"},
        {"id": "1000", "parent_id": "60", "owner_id": "42"},
        {"id": "1001", "parent_id": "60", "owner_id": "42"},
        {"id": "1002", "parent_id": "61", "owner_id": "42"},
    ]
    server.on("GET /guilds/800/threads/active", Reply(body={"threads": posts, "members": []}))
    content = server.bodies(ALONE)[0]["message"]["content"]
    server.on("GET /channels/1001/messages/1001", Reply(body={"id": "1001", "author": ME, "content": content}))
    assert platform.find_thread(HOME, key="h1") == Place("discord", "1001")
    assert platform.find_thread(HOME, key="h2") is None


def test_no_thread_is_found_where_threads_are_impossible(server: ScriptedDiscord, platform: Discord) -> None:
    server.on(CHANNEL, Reply(body={"id": "60", "type": 1, **DIRECT}))
    server.on(HISTORY, Reply(body=[]))
    assert platform.find_thread(HOME, key="h1") is None
