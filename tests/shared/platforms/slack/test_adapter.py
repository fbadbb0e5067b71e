"""Slack's links, homes, titles and long threads, against the simulator."""

import contextlib

import pytest

from local.chats.simulator import Simulator
from shared.domain.routes import Place
from shared.errors import Ambiguous, ForeignChat
from shared.platforms.slack.adapter import Slack
from shared.platforms.slack.api import Api
from shared.ports.platforms import Part
from shared.settings import Settings
from tests.shared.platforms.scripted_answers import scripted
from tests.support.secrets import FakeSecrets

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
        "conversations.info": {"ok": True, "channel": {"id": "G1AA", "is_mpim": True}},
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
