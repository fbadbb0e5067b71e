"""The simulator's own HTTP interface, its start and its stop."""

import base64
import hashlib
import json
import socket
from typing import Any

import httpx
import pytest

from local.chats import CHATS
from local.chats.simulator import Simulator


def test_the_state_has_exactly_the_documented_shape(simulator: Simulator) -> None:
    simulator.say("telegram", "7001", "hello")
    state = httpx.get(f"{simulator.url}/state").json()
    assert list(state) == ["platforms"]
    assert list(state["platforms"]) == [chat.name for chat in CHATS]
    for platform in state["platforms"].values():
        assert list(platform) == ["chats"]
        for chat in platform["chats"]:
            assert list(chat) == ["id", "title", "threads", "messages"]
    (message,) = state["platforms"]["telegram"]["chats"][0]["messages"]
    assert list(message) == ["id", "from", "text", "at"]
    assert message["from"] == "owner"
    assert message["at"].endswith("Z")


def test_a_message_shows_what_is_beside_its_text(simulator: Simulator) -> None:
    body = {"platform": "telegram", "chat": "7001", "attachments": ["picture"], "forwarded": True}
    answer = httpx.post(f"{simulator.url}/say", json=body).json()

    assert (answer["text"], answer["forwarded"]) == ("", True)
    assert [(file["name"], file["type"]) for file in answer["files"]] == [("plan.png", "image/png")]


def test_a_file_is_in_the_state_with_its_digest_and_never_with_its_bytes(simulator: Simulator) -> None:
    file = {"name": "../a b.txt", "type": "text/plain", "data": base64.b64encode(b"words").decode()}
    body = {"platform": "telegram", "chat": "7001", "files": [file]}
    answer = httpx.post(f"{simulator.url}/say", json=body).json()

    digest = hashlib.sha256(b"words").hexdigest()
    assert answer["files"] == [{"name": "../a b.txt", "type": "text/plain", "size": 5, "sha256": digest}]


@pytest.mark.parametrize(
    "file", [{}, 7, {"name": "a", "type": "text/plain", "data": "?"}, {"name": "a", "type": "x\r\ny", "data": ""}]
)
def test_a_file_that_is_none_is_refused(simulator: Simulator, file: Any) -> None:
    body = {"platform": "telegram", "chat": "7001", "files": [file]}
    answer = httpx.post(f"{simulator.url}/say", json=body)

    assert (answer.status_code, "base64" in answer.json()["error"]) == (422, True)


def test_say_returns_the_message_and_accepts_numeric_ids(simulator: Simulator) -> None:
    body = {"platform": "telegram", "chat": -1002, "user": "stranger", "text": "hi"}
    answer = httpx.post(f"{simulator.url}/say", content=json.dumps(body)).json()
    assert (answer["chat"], answer["from"], answer["text"]) == ("-1002", "stranger", "hi")


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        ("/say", {"platform": "icq", "chat": "1", "text": "x"}, 422, "telegram, slack, discord"),
        ("/say", {"platform": "telegram", "chat": "7001", "text": "  "}, 422, "text is missing"),
        ("/say", {"platform": "telegram", "chat": "7001", "text": "x", "user": "bot"}, 422, "owner, stranger"),
        ("/say", {"platform": "telegram", "chat": "7001", "text": "x", "user": "stranger"}, 422, "cannot write there"),
        ("/say", {"platform": "telegram", "chat": "1", "text": "x"}, 404, "no chat 1"),
        ("/say", {"platform": "telegram", "chat": "7001", "thread": "9", "text": "x"}, 404, "no thread 9"),
        ("/say", {"platform": "telegram", "chat": "7001", "attachments": ["song"]}, 422, "picture, file"),
        ("/say", {"platform": "telegram", "chat": "7001", "attachments": "picture"}, 422, "a list of"),
        ("/say", {"platform": "signal", "chat": "1", "text": "x", "forwarded": True}, 422, "only where the platform"),
        ("/say", ["x"], 400, "JSON object"),
        ("/faults", {"platform": "slack", "kind": "gremlins", "count": 1}, 422, "rate_limit"),
        ("/faults", {"platform": "slack", "kind": "reset", "count": -1}, 422, "whole number"),
        ("/faults", {"platform": "slack", "kind": "slow", "seconds": "long"}, 422, "seconds"),
        ("/faults", {"platform": "slack", "kind": "slow", "on": "sing"}, 422, "open_thread"),
        ("/remove", {"platform": "slack", "chat": "C0NOPE"}, 404, "no chat C0NOPE"),
        ("/press", {"platform": "telegram", "chat": "7001", "message": "9", "button": "x"}, 404, "no message 9"),
        ("/press", {"platform": "telegram", "chat": "7001", "button": "x"}, 404, "no message"),
        ("/press", {"platform": "telegram", "chat": "7001", "message": "9", "user": "bot"}, 422, "owner, stranger"),
    ],
)
def test_an_invalid_request_is_explained(simulator: Simulator, path: str, body: Any, status: int, words: str) -> None:
    answer = httpx.post(f"{simulator.url}{path}", json=body)
    assert answer.status_code == status
    assert words in answer.json()["error"]


def ask(simulator: Simulator, chat: int) -> str:
    url = f"{simulator.api_url('telegram')}{simulator.secrets['telegram/bot_token']}/sendMessage"
    markup = {"inline_keyboard": [[{"text": "Allow", "callback_data": "allow", "style": "primary"}]]}
    answer = httpx.post(url, json={"chat_id": chat, "text": "May I?", "reply_markup": markup}).json()
    return str(answer["result"]["message_id"])


def test_buttons_and_answers_are_in_the_state_where_there_are_any(simulator: Simulator) -> None:
    message = ask(simulator, 7001)
    body = {"platform": "telegram", "chat": "7001", "message": message, "button": "allow", "user": "owner"}
    assert httpx.post(f"{simulator.url}/press", json=body).json() == {}

    url = f"{simulator.api_url('telegram')}{simulator.secrets['telegram/bot_token']}"
    query = httpx.get(f"{url}/getUpdates").json()["result"][0]["callback_query"]
    httpx.post(f"{url}/answerCallbackQuery", json={"callback_query_id": query["id"], "text": "Allowed"})

    (shown,) = simulator.state()["platforms"]["telegram"]["chats"][0]["messages"]
    assert list(shown) == ["id", "from", "text", "at", "buttons", "acknowledged"]
    assert shown["buttons"] == [{"id": "allow", "label": "Allow"}]
    assert shown["acknowledged"] == [{"to": "owner", "text": "Allowed"}]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"button": "deny"}, "one of allow"),
        ({"button": None}, "one of allow"),
        ({"user": "stranger"}, "cannot write there"),
    ],
)
def test_an_impossible_press_is_explained(simulator: Simulator, more: dict[str, Any], words: str) -> None:
    message = ask(simulator, 7001)
    body = {"platform": "telegram", "chat": "7001", "message": message, "button": "allow", **more}
    answer = httpx.post(f"{simulator.url}/press", json=body)

    assert answer.status_code == 422
    assert words in answer.json()["error"]


def test_a_message_without_buttons_cannot_be_pressed(simulator: Simulator) -> None:
    message = simulator.say("telegram", "7001", "hello")
    body = {"platform": "telegram", "chat": "7001", "message": message, "button": "allow"}

    assert "no buttons" in httpx.post(f"{simulator.url}/press", json=body).json()["error"]


def test_a_body_without_json_is_rejected(simulator: Simulator) -> None:
    assert httpx.post(f"{simulator.url}/say", content="{").status_code == 400


def test_requests_of_other_sites_are_rejected(simulator: Simulator) -> None:
    body = {"platform": "telegram", "chat": "7001", "text": "x"}
    answer = httpx.post(f"{simulator.url}/say", json=body, headers={"Origin": "http://evil.example"})
    assert answer.status_code == 403
    assert simulator.state()["platforms"]["telegram"]["chats"][0]["messages"] == []


@pytest.mark.parametrize("path", ["/", "/state", "/live", "/telegram/botx/getMe"])
@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1.evil.example:{port}", "[bad"])
def test_a_rebound_name_reaches_nothing(simulator: Simulator, host: str, path: str) -> None:
    port = httpx.URL(simulator.url).port
    headers = {"Host": host.format(port=port)}
    assert httpx.get(f"{simulator.url}{path}", headers=headers).status_code == 403
    own = {**headers, "Origin": f"http://{headers['Host']}"}
    assert httpx.post(f"{simulator.url}/say", json={}, headers=own).status_code == 403


def test_the_page_of_another_site_reads_nothing(simulator: Simulator) -> None:
    headers = {"Origin": "http://evil.example"}
    assert httpx.get(f"{simulator.url}/state", headers=headers).status_code == 403
    assert httpx.get(f"{simulator.url}/live", headers=headers).status_code == 403
    localhost = str(httpx.URL(simulator.url).copy_with(host="localhost"))
    assert httpx.get(f"{localhost}/state").status_code == 200


def test_faults_add_up_and_zero_disarms_them(simulator: Simulator) -> None:
    simulator.arm("telegram", "reset", 2)
    simulator.arm("slack", "slow", seconds=1.5, on="typing")
    answer = httpx.post(f"{simulator.url}/faults", json={"platform": "telegram", "kind": "reset", "count": 0}).json()
    assert answer == {
        "armed": [{"platform": "slack", "kind": "slow", "count": 1, "seconds": 1.5, "on": "typing"}],
    }


def test_live_sends_the_scene_then_each_change(simulator: Simulator) -> None:
    with httpx.stream("GET", f"{simulator.url}/live", timeout=10) as stream:
        lines = (line for line in stream.iter_lines() if line)
        assert next(lines) == "event: scene"
        scene = json.loads(next(lines).removeprefix("data: "))
        assert scene["people"]["owner"] == "Olivia Owner"
        simulator.say("telegram", "-1002", "<b>hello</b>")
        assert next(lines) == "event: change"
        change = json.loads(next(lines).removeprefix("data: "))
        assert (change["kind"], change["chat"], change["message"]["text"]) == ("message", "-1002", "<b>hello</b>")
        simulator.arm("discord", "forbidden")
        assert next(lines) == "event: faults"
        assert json.loads(next(lines).removeprefix("data: "))[0]["kind"] == "forbidden"


def test_a_taken_port_is_an_error() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        simulator = Simulator()
        with pytest.raises(OSError, match="address already in use"):
            simulator.start(taken.getsockname()[1])
        simulator.stop()


def test_stop_ends_open_streams_and_can_be_repeated() -> None:
    simulator = Simulator()
    simulator.start()
    with httpx.stream("GET", f"{simulator.url}/live", timeout=10) as stream:
        lines = stream.iter_lines()
        next(lines)
        simulator.stop()
        assert list(lines)[-1:] == [""]
    simulator.stop()


def test_links_open_a_thread_on_the_page(simulator: Simulator) -> None:
    assert simulator.link_url("telegram") == f"{simulator.url}/#/telegram"
    assert simulator.link_url("telegram", "-1002", "17") == f"{simulator.url}/#/telegram/-1002/17"
    assert httpx.get(f"{simulator.url}/").status_code == 200


@pytest.mark.parametrize("path", ["/static/..%2fpage.py", "/static/page.py", "/static/none.js"])
def test_only_files_of_the_page_are_served(simulator: Simulator, path: str) -> None:
    assert httpx.get(f"{simulator.url}{path}").status_code == 404
