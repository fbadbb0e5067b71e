"""Slack's links, homes, titles and long threads, against the simulator."""

import contextlib
import json
from dataclasses import replace
from typing import Any

import pytest
from slack_sdk.models.blocks import Block

from local.chats.simulator import Simulator
from shared.domain.routes import Place
from shared.errors import Ambiguous, ForeignChat
from shared.platforms.slack.adapter import Slack
from shared.platforms.slack.api import Api
from shared.ports.inbound import Pressed
from shared.ports.platforms import MOST_BUTTONS, Button, Part
from shared.settings import Settings
from tests.shared.platforms.scripted_answers import scripted
from tests.support.secrets import FakeSecrets
from tests.support.servers import HttpServer, Response

HOME = Place("slack", "C0HOME")


def adapter_for(simulator: Simulator) -> Slack:
    urls = {"slack": {"api": simulator.api_url("slack")}}
    return Slack(Settings("handoffs", "sessions", "queue", platform_urls=urls), FakeSecrets(simulator.secrets))


def test_a_link_opens_the_thread_in_its_workspace(simulator: Simulator) -> None:
    adapter = adapter_for(simulator)

    thread = "https://handoff.slack.com/archives/C0HOME/p1790000000000100?thread_ts=1790000000.000100&cid=C0HOME"
    assert adapter.link(Place("slack", "C0HOME", "1790000000.000100")) == thread
    assert adapter.link(HOME) == "https://handoff.slack.com/archives/C0HOME"


def test_a_channel_has_a_link_while_slack_is_down(simulator: Simulator) -> None:
    adapter = adapter_for(simulator)
    simulator.stop()

    assert adapter.link(HOME) == "https://slack.com/app_redirect?channel=C0HOME"


def test_a_person_as_home_is_the_direct_messages_with_them(simulator: Simulator) -> None:
    adapter = adapter_for(simulator)

    home = adapter.resolve_chat(Place("slack", "U7001"), people=["U7001"])

    assert (home.place, home.private) == (Place("slack", "D0OWNER"), True)
    with pytest.raises(ForeignChat):
        adapter.resolve_chat(Place("slack", "U7001"), people=["U7002"])


@pytest.mark.parametrize(("people", "is_open"), [(["U1AA"], True), (["U3AA"], False), ([], False)])
def test_group_messages_are_open_to_their_members(people: list[str], is_open: bool) -> None:
    script = {
        "conversations.info": {"ok": True, "channel": {"id": "G1AA", "is_im": False, "is_mpim": True}},
        "conversations.members": {"ok": True, "members": ["U1AA", "U2AA", "U9AA"]},
    }
    with scripted(script) as url:
        settings = Settings("h", "s", "q", platform_urls={"slack": {"api": f"{url}/api/"}})
        adapter = Slack(settings, FakeSecrets({"slack/bot_token": "xoxb-1", "slack/signing_secret": "secret"}))
        with contextlib.nullcontext() if is_open else pytest.raises(ForeignChat):
            assert not adapter.resolve_chat(Place("slack", "G1AA"), people=people).private


def test_a_thread_mentions_its_person_and_escapes_the_title(simulator: Simulator) -> None:
    adapter_for(simulator).open_thread(HOME, "<b> *x* & <!here>", key="h", people=["U7001", "; DROP"])

    [channel] = [c for c in simulator.state()["platforms"]["slack"]["chats"] if c["id"] == "C0HOME"]
    assert channel["messages"][0]["text"] == "&lt;b&gt; *x* &amp; &lt;\u2060!here&gt; <@U7001>"


def test_markdown_that_slack_refuses_is_posted_as_plain_text(simulator: Simulator) -> None:
    adapter = adapter_for(simulator)

    message = adapter.send(HOME, Part("x" * 12_500), key="a")

    assert adapter.find_message(HOME, key="a") == message


def test_the_last_message_of_a_long_thread_is_found(simulator: Simulator) -> None:
    adapter = adapter_for(simulator)
    place = adapter.open_thread(HOME, "Title", key="h", people=[])
    adapter.send(place, Part("first"), key="first")
    for n in range(250):
        simulator.say("slack", "C0HOME", f"word {n}", thread=place.thread)
    last = adapter.send(place, Part("last"), key="last")

    assert adapter.find_message(place, key="last") == last
    assert adapter.find_thread(place.home, key="h") == place


def test_a_call_that_takes_too_long_is_ambiguous(simulator: Simulator) -> None:
    api = Api(simulator.api_url("slack"), simulator.secrets["slack/bot_token"], seconds=1)
    simulator.arm("slack", "slow", seconds=5)

    with pytest.raises(Ambiguous):
        api.post("C0HOME", None, "hello", {"event_type": "x", "event_payload": {}})


def sent_blocks(simulator: Simulator) -> list[list[dict[str, Any]]]:
    calls = [call.arguments["blocks"] for call in simulator.calls if call.name in ("chat.postMessage", "chat.update")]
    return [json.loads(blocks) if isinstance(blocks, str) else blocks for blocks in calls]


def shown_at_home(simulator: Simulator) -> list[dict[str, Any]]:
    (channel,) = [c for c in simulator.state()["platforms"]["slack"]["chats"] if c["id"] == "C0HOME"]
    messages: list[dict[str, Any]] = channel["messages"]
    return messages


def test_blocks_are_valid_for_slacks_sdk(simulator: Simulator) -> None:
    adapter = adapter_for(simulator)
    many = tuple(Button(f"{number:064}", "word " * 40, "danger") for number in range(MOST_BUTTONS))
    message = adapter.send(HOME, Part("May I run **this**?", buttons=many), key="a")
    adapter.edit(HOME, message, Part("May I?", buttons=(Button("a", "Allow", "primary"), Button("b", "Later"))))
    adapter.edit(HOME, message, Part("Done"))

    blocks = sent_blocks(simulator)
    assert [[block["type"] for block in one] for one in blocks] == [["markdown", "actions"]] * 2 + [["markdown"]]
    for one in blocks:
        for block in Block.parse_all(one):
            block.validate_json()


def test_a_refused_markdown_block_becomes_plain_text_with_buttons(simulator: Simulator) -> None:
    adapter = adapter_for(simulator)
    long = Part("".join(f"{number:05}" for number in range(2_500)), buttons=(Button("a", "Allow"),))

    message = adapter.send(HOME, long, key="a")

    assert adapter.find_message(HOME, key="a") == message
    (shown,) = shown_at_home(simulator)
    assert (shown["text"], shown["buttons"]) == (long.text, [{"id": "a", "label": "Allow"}])
    adapter.edit(HOME, message, replace(long, buttons=()))
    (shown,) = shown_at_home(simulator)
    assert (shown["text"], "buttons" in shown) == (long.text, False)


def test_the_summary_of_blocks_rings_for_no_one(simulator: Simulator) -> None:
    adapter = adapter_for(simulator)
    (part,) = adapter.render("<!here> look, <@U7002> & @channel")

    adapter.send(HOME, replace(part, buttons=(Button("a", "<!here>"),)), key="a")

    (call,) = [call for call in simulator.calls if call.name == "chat.postMessage"]
    assert call.arguments["text"].startswith("&lt;\u2060!here&gt; look, &lt;\u2060@U7002&gt; &amp; @\u2060channel")
    (shown,) = shown_at_home(simulator)
    assert shown["buttons"][0]["label"] == "<\u2060!here>"


def pressed(handle: str) -> Pressed:
    return Pressed("1", Place("slack", "C0HOME", "1790000000.000100"), "U7001", "go", "1790000001.000100", handle)


@pytest.mark.parametrize(
    "handle",
    [
        "{url}",
        "{url}@127.0.0.1:9/x",
        "{url}.evil.example/x",
        "{url}/a/../b",
        "{url}/a?b=c",
        "{url}/a#b",
        "{url}//a",
        "{url}\\\\@evil/x",
        "https://hooks.slack.com/actions/T1/2/abc",
        "http://169.254.169.254/latest",
        "file:///etc/passwd",
        "ftp://hooks.slack.com/actions",
        "/actions/T1/2",
    ],
)
def test_an_answer_goes_to_no_other_address(handle: str, caplog: pytest.LogCaptureFixture) -> None:
    """Below the address of the configured API the answer is sent; see the next test."""
    with HttpServer(lambda _: Response(body=b"ok")) as server:
        adapter = _at(f"{server.url}/slack/api/")

        adapter.acknowledge(pressed(handle.format(url=server.url)), "Done")

        assert server.requests == []
    assert "not one of Slack" in caplog.text
    assert handle.format(url=server.url) not in caplog.text


def test_an_answer_goes_below_the_address_of_the_api() -> None:
    with HttpServer(lambda _: Response(body=b"ok")) as server:
        _at(f"{server.url}/slack/api/").acknowledge(pressed(f"{server.url}/actions/T1/2/aB-_9"), "Done <&> fine")

        (request,) = server.requests
    assert request.path == "/actions/T1/2/aB-_9"
    assert request.json == {
        "response_type": "ephemeral",
        "replace_original": False,
        "text": "Done &lt;&amp;&gt; fine",
        "thread_ts": "1790000000.000100",
    }
    assert "authorization" not in request.headers


@pytest.mark.parametrize(
    ("handle", "is_called"),
    [
        ("https://hooks.slack.com/actions/T1/2/abc", True),
        ("https://hooks.slack.com.evil.example/actions/T1", False),
        ("https://hooks.slack.com@evil.example/actions/T1", False),
        ("http://hooks.slack.com/actions/T1/2/abc", False),
        ("https://slack.com/api/chat.postMessage", False),
        ("https://hooks.slack.com:444/actions/T1", False),
    ],
)
def test_slack_itself_is_answered_at_its_own_host(
    monkeypatch: pytest.MonkeyPatch, handle: str, *, is_called: bool
) -> None:
    called: list[str] = []
    monkeypatch.setattr(Api, "respond", lambda _, url, *__: called.append(url))
    adapter = Slack(Settings("h", "s", "q"), FakeSecrets({"slack/bot_token": "xoxb-1"}))

    adapter.acknowledge(pressed(handle), "Done")

    assert called == ([handle] if is_called else [])


def _at(api_url: str) -> Slack:
    settings = Settings("h", "s", "q", platform_urls={"slack": {"api": api_url}})
    return Slack(settings, FakeSecrets({"slack/bot_token": "xoxb-1", "slack/signing_secret": "secret"}))
