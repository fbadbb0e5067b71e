"""A real homeserver on loopback, and the people on it. Registered bots are served in every way that Matrix has."""

import hashlib
import hmac
import json
import signal
import subprocess
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from tests.support.waiting import eventually

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = ROOT / "tests" / "real_synapse" / "requirements.txt"
INSTALLED = ROOT / ".build" / "synapse"
NAME = "chat.test"
START_SECONDS = 60.0

Json = dict[str, Any]


def why_absent() -> str | None:
    """Why the homeserver cannot be run here; None if the pinned version is installed."""
    installed = INSTALLED / "installed.txt"
    if installed.is_file() and installed.read_bytes() == REQUIREMENTS.read_bytes():
        return None
    return "Synapse is not installed (tests/real_synapse/install)"


@dataclass(frozen=True)
class AppService:
    """The registration of a bot to which the homeserver sends its events."""

    url: str
    bot: str = "app"
    as_token: str = field(default_factory=lambda: uuid.uuid4().hex)
    hs_token: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def registration(self) -> Json:
        users = [{"exclusive": True, "regex": f"@{self.bot}:{NAME}"}]
        return {
            "id": self.bot,
            "url": self.url,
            "as_token": self.as_token,
            "hs_token": self.hs_token,
            "sender_localpart": self.bot,
            "rate_limited": False,
            "namespaces": {"users": users, "rooms": [], "aliases": []},
        }


class Synapse:
    """One homeserver in a directory; `kill` and `start` it as often as needed, on the same port and data."""

    def __init__(self, directory: Path, port: int, service: AppService) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.output = directory / "output"
        self._directory, self._secret = directory, uuid.uuid4().hex
        self._process: subprocess.Popen[bytes] | None = None
        generous = {"per_second": 1000, "burst_count": 1000}
        # JSON is YAML.
        files = {
            "service.yaml": service.registration,
            "log.yaml": {"version": 1, "disable_existing_loggers": False, "root": {"level": "ERROR"}},
            "homeserver.yaml": {
                "server_name": NAME,
                "pid_file": str(directory / "pid"),
                "listeners": [
                    {
                        "port": port,
                        "type": "http",
                        "bind_addresses": ["127.0.0.1"],
                        "resources": [{"names": ["client"]}],
                    }
                ],
                "database": {"name": "sqlite3", "args": {"database": str(directory / "data.sqlite")}},
                "media_store_path": str(directory / "media"),
                "signing_key_path": str(directory / "signing.key"),
                "log_config": str(directory / "log.yaml"),
                "registration_shared_secret": self._secret,
                "macaroon_secret_key": uuid.uuid4().hex,
                "form_secret": uuid.uuid4().hex,
                "report_stats": False,
                "trusted_key_servers": [],
                "app_service_config_files": [str(directory / "service.yaml")],
                "ip_range_whitelist": ["127.0.0.1/32"],  # pushes to loopback
                "presence": {"enabled": False},
                "rc_message": generous,
                "rc_joins": {"local": generous, "remote": generous},
                "rc_invites": {"per_room": generous, "per_user": generous, "per_issuer": generous},
                "rc_room_creation": generous,
            },
        }
        for name, content in files.items():
            (directory / name).write_text(json.dumps(content))
        (directory / "signing.key").write_text("ed25519 a_test A4uKqVXVZtqZDTQfv+O0Rnb6wxbRhwSgbA8xDYNsHcE\n")

    def start(self) -> None:
        """Returns when it answers."""
        with self.output.open("ab") as stream:
            self._process = subprocess.Popen(
                [
                    INSTALLED / "bin" / "python",
                    "-m",
                    "synapse.app.homeserver",
                    "-c",
                    self._directory / "homeserver.yaml",
                ],
                cwd=self._directory,
                stdout=stream,
                stderr=stream,
            )
        eventually(self._answers, within=START_SECONDS, show=self.output.read_text)

    def kill(self) -> None:
        """SIGKILL, as when the machine dies."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait(30)
            self._process = None

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.output.read_text()
        try:
            return httpx.get(f"{self.url}/_matrix/client/versions", timeout=5).is_success
        except httpx.TransportError:
            return False

    def register(self, name: str) -> "Account":
        path = f"{self.url}/_synapse/admin/v1/register"
        nonce = httpx.get(path, timeout=20).json()["nonce"]
        signed = b"\0".join([nonce.encode(), name.encode(), b"password", b"notadmin"])
        mac = hmac.new(self._secret.encode(), signed, hashlib.sha1).hexdigest()
        body = {"nonce": nonce, "username": name, "password": "password", "admin": False, "mac": mac}
        made = httpx.post(path, json=body, timeout=20).raise_for_status().json()
        return Account(self.url, made["user_id"], made["access_token"])


@dataclass(frozen=True)
class Account:
    """A person, or a bot, as a client of the homeserver."""

    url: str
    id: str
    token: str = field(repr=False)

    def call(self, method: str, path: str, body: Json | None = None, **query: str) -> Json:
        headers = {"Authorization": f"Bearer {self.token}"}
        answer = httpx.request(
            method, f"{self.url}/_matrix/client{path}", json=body, params=query, headers=headers, timeout=20
        )
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        found: Json = answer.json()
        return found

    def create_room(
        self, *invited: str, encrypted: bool = False, direct: bool = True, world_readable: bool = False
    ) -> str:
        state = {
            **({"m.room.encryption": {"algorithm": "m.megolm.v1.aes-sha2"}} if encrypted else {}),
            **({"m.room.history_visibility": {"history_visibility": "world_readable"}} if world_readable else {}),
        }
        body = {
            "invite": list(invited),
            "is_direct": direct,
            "preset": "trusted_private_chat" if direct else "public_chat",
            "initial_state": [{"type": kind, "state_key": "", "content": state[kind]} for kind in state],
        }
        return str(self.call("POST", "/v3/createRoom", body)["room_id"])

    def invite(self, room: str, person: str) -> None:
        self.call("POST", f"/v3/rooms/{_quoted(room)}/invite", {"user_id": person})

    def join(self, room: str) -> None:
        self.call("POST", f"/v3/rooms/{_quoted(room)}/join", {})

    def say(self, room: str, text: str, root: str | None = None, /, **content: Any) -> str:
        body: Json = {"msgtype": "m.text", "body": text, **content}
        if root is not None:
            falling_back = {"is_falling_back": True, "m.in_reply_to": {"event_id": root}}
            body["m.relates_to"] = {"rel_type": "m.thread", "event_id": root, **falling_back}
        path = f"/v3/rooms/{_quoted(room)}/send/m.room.message/{uuid.uuid4().hex}"
        return str(self.call("PUT", path, body)["event_id"])

    def redact(self, room: str, event: str) -> None:
        self.call("PUT", f"/v3/rooms/{_quoted(room)}/redact/{_quoted(event)}/{uuid.uuid4().hex}", {})

    def members(self, room: str) -> set[str]:
        return set(self.call("GET", f"/v3/rooms/{_quoted(room)}/joined_members")["joined"])

    def events(self, room: str) -> list[Json]:
        """The messages of the room with those in its threads, oldest first."""
        found = self.call("GET", f"/v3/rooms/{_quoted(room)}/messages", dir="b", limit="200")["chunk"]
        return [event for event in reversed(found) if event["type"] == "m.room.message"]

    def texts(self, room: str, sender: str, root: str | None = None) -> list[str]:
        """What an account said in the room outside threads, or in one of its threads, without edits."""
        relations = [(event, event["content"].get("m.relates_to") or {}) for event in self.events(room)]
        return [
            event["content"].get("body", "")
            for event, relation in relations
            if event["sender"] == sender
            and relation.get("rel_type") != "m.replace"
            and (relation.get("event_id") if relation.get("rel_type") == "m.thread" else None) == root
        ]


def _quoted(text: str) -> str:
    return quote(text, safe="")
