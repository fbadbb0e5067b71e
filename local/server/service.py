"""The whole service in one process: file, workers, HTTP, chats. Starts at once after any end, stops within seconds."""

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from local.chats.real import RealBots
from local.chats.relays.base import Relay
from local.chats.relays.configuration import variable
from local.options import secrets_from
from local.server.app import build_app
from local.server.chats import RealChats, SimulatedChats
from local.server.composition import Engine, build_engine, settings_from
from local.server.directory import DataDirectory, Refused, Unusable
from local.server.http import HttpServer
from local.server.state_file import EVERY_SECONDS, StateFile
from local.server.work import Work
from local.server.workers import Sweeper
from local.users import USERS
from shared.domain.tokens import USUAL, Scope
from shared.errors import DataFileError
from shared.platforms import PLATFORMS
from shared.platforms.registry import load_adapters
from shared.ports.store import Store
from shared.sqlite.database import Database
from shared.sqlite.secrets import SqliteSecrets
from shared.store.leases import claimed_sessions, void_leases
from shared.use_cases.people.authenticate import hash_of, new_token
from shared.use_cases.take_up import take_up

if TYPE_CHECKING:
    from local.chats.simulator import Simulator

log = logging.getLogger(__name__)
RELAY_SECONDS = 1.0
STOP_SECONDS = 6.0
"""From the begin of a stop until what still runs is handed back. The rest leaves a loaded machine time until ten."""
LEAST_STOP_SECONDS = 1.0
TOKENS = {"owner": "HANDOFF_TOKEN", "other": "HANDOFF_OTHER_TOKEN"}


@dataclass(frozen=True)
class Address:
    """Where the service listens, and how platforms reach it. Without a port it is the usual one, or a free one."""

    host: str = "127.0.0.1"
    port: int | None = None
    public_url: str = ""
    usual_port: int = 8787
    page_port: int = 8788


class Server:
    """Use it as a context manager, or `start` and `stop` it once."""

    def __init__(
        self,
        directory: DataDirectory,
        environment: Mapping[str, str],
        address: Address,
        *,
        on_loaded: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_loaded` is called in a thread when the SDKs in use are loaded, some time after the start."""
        self.directory = directory
        self.tokens: dict[str, str] = {}
        self._environment, self._address = environment, address
        self._on_loaded = on_loaded
        self._stops: list[Callable[[], object]] = []
        self._is_idle = True
        self._is_stopping = False
        self._is_loaded = False
        self._started_at = time.time_ns()
        self._deadline = 0.0
        self._relays: list[Relay] = []
        self._relays_lock = threading.Lock()

    def start(self) -> Self:
        """Everything is up when this returns; after an error nothing is left running. Raises Unusable, DataFileError."""
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self, *, began: float | None = None) -> None:
        """Let what runs finish or hand it back, in reverse order of the start. A second call does nothing.

        `began` is when the stop began, if something else was stopped before.
        """
        now = time.monotonic()
        self._deadline = max(now + LEAST_STOP_SECONDS, (now if began is None else began) + STOP_SECONDS)
        while self._stops:
            self._stops.pop()()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """The address for clients on this machine."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self._address.host, self._address.host)
        return f"http://{f'[{host}]' if ':' in host else host}:{self.http.port}"

    @property
    def store(self) -> Store:
        return self.engine.services.store

    @property
    def simulator(self) -> "Simulator":
        """Raises LookupError if there are real bots."""
        if self.chats.simulator is None:
            raise LookupError("there are real bots, so no chats are simulated")
        return self.chats.simulator

    @property
    def secret_texts(self) -> list[str]:
        """All that must not be logged: tokens of users and bots, keys of agents."""
        relays = [value for bot in self.bots.bots for value in bot.secrets.values()]
        return [
            *self.tokens.values(),
            *self.chats.secrets().values(),
            *relays,
            *secrets_from(self._environment).values(),
        ]

    def _start(self) -> None:
        self.directory.create()
        lock = self.directory.lock()
        self._stops.append(lambda: os.close(lock))
        database = Database(self.directory.database)
        self._stops.append(lambda: self._close(database))
        self.chats = self._open_chats(SqliteSecrets(database))
        self._stops.append(self.chats.stop)
        self.engine = self._build(database)
        self._void_leases()
        self._link_people()
        self._stops.append(self._finish)
        self.work.start()
        self._listen()
        self._keep_tokens()
        taken_up = take_up(self.engine.services, self.work.handoffs.wake)
        log.info("started on %s, %d unfinished", self.directory.path, taken_up)
        self.chats.post_to(self.url)
        self._stops.append(self._stop_relays)
        self._stops.append(self.engine.held_reads.close)
        self._connecting = threading.Thread(target=self._connect, name="connect", daemon=True)
        self._connecting.start()
        self._state_file = StateFile(self.directory.state)
        writer = Sweeper(self._write_state, every=EVERY_SECONDS)
        writer.start()
        self._stops.append(lambda: writer.stop(RELAY_SECONDS))

    def _open_chats(self, secrets: SqliteSecrets) -> RealChats | SimulatedChats:
        """Tokens of bots come from the environment, or from the file."""
        in_file = {variable(name): secrets.get(name) or "" for name in secrets.names()}
        environment = {**in_file, **self._environment}
        self.bots = RealBots.from_environment(environment)
        if self.bots.bots:
            chats = RealChats(self.bots, secrets, has_public_url=bool(self._address.public_url))
            if wrong := list(chats.faults(environment)):
                raise Refused("\n".join([*wrong, "Nothing was started."]))
            return chats
        return SimulatedChats(secrets, self.directory.chats, self._address.page_port)

    def _build(self, database: Database) -> Engine:
        self.work = Work()
        settings = settings_from(
            self._environment, public_url=self._address.public_url, platform_urls=self.chats.platform_urls()
        )
        secrets = {**self.chats.secrets(), **secrets_from(self._environment)}
        engine = build_engine(database, settings, secrets=secrets, on_handoff=self.work.handoffs.changed)
        self.work.attach(engine)
        return engine

    def _link_people(self) -> None:
        try:
            self.chats.seed(self.store)
        except ValueError as taken:  # the data was imported, and its user has another name than the one here
            raise Refused(
                f"{taken}. Nothing was started. That user's replies are read already: remove the variable that ends in "
                "_USER_ID for this platform, and use that user's token (handoff config set token)."
            ) from taken

    def _void_leases(self) -> None:
        """The lock proves that no other process works on this file: what an earlier one held is free."""
        engine, now = self.engine, self.engine.services.clock.now()
        void_leases(engine.tables, engine.tables.held(now), now=now)
        engine.turns.release_all()
        engine.runs.release_all()

    def _listen(self) -> None:
        services, only_here = self.engine.services, not self._address.public_url
        self.http = HttpServer(build_app(services), services, sync=self.engine.database.sync, only_here=only_here)
        self._stops.append(self.http.stop)
        try:
            self.http.start(self._address.host, _free_or(self._address))
        except OSError as error:
            where = f"{self._address.host}:{self._address.port}"
            raise Unusable(f"Cannot listen on {where}: {error.strerror}. Choose another one with --listen.") from error

    def _keep_tokens(self) -> None:
        """The tokens of earlier runs, as long as they are valid, else new ones."""
        known, accounts = self.directory.read_env(), self.store.accounts
        users = USERS if self.chats.simulator else USERS[:1]
        for user in users:
            token = known.get(TOKENS[user], "")
            scopes = frozenset(Scope) if user == USERS[0] else USUAL  # the owner of the machine is its operator
            stored = accounts.token(user, hash_of(token)) if token else None
            if stored is None or not scopes <= stored.scopes:
                token = token if stored else new_token(user)
                now = self.engine.services.clock.now()
                accounts.add_token(user, hash_of(token), scopes=scopes, label="this machine", created_at=now)
            self.tokens[user] = token
        self.engine.database.sync()
        simulator = {"HANDOFF_SIM_URL": self.chats.simulator.url} if self.chats.simulator else {}
        tokens = {TOKENS[user]: token for user, token in self.tokens.items()}
        self.directory.write_env({"HANDOFF_URL": self.url, **tokens, **simulator})

    def _finish(self) -> None:
        """Take no new work, wait for what runs, then hand back what an agent still works on."""
        has_ended = self.work.stop(self._deadline - time.monotonic())
        self._is_idle = self.http.wait_idle(self._deadline - time.monotonic()) and has_ended
        try:
            self._hand_back()
        except DataFileError as error:  # the next start voids the leases; then the turns count as interrupted
            log.error("turns of the agent could not be handed back: %s", error)  # noqa: TRY400  # a traceback adds nothing

    def _hand_back(self) -> None:
        services, tables = self.engine.services, self.engine.tables
        now = services.clock.now()
        for session in claimed_sessions(tables.held(now)):
            if services.store.turns.hand_back(session, now=now, until=now, interrupted=None):
                log.info("session %s: its turn goes on after the next start", session.id)
        self.engine.database.sync()

    def _close(self, database: Database) -> None:
        """A thread that hangs may still use the file; the end of the process closes it then."""
        if self._is_idle:
            database.close()

    def _connect(self) -> None:
        """Start relays, and load the agent, adapters and SDKs in use, so that the first handoff is as fast as the next.

        Not before the service is ready, because the imports take a second.
        """
        services = self.engine.services
        try:
            for relay in self.chats.relays(self.url):
                with self._relays_lock:
                    if self._is_stopping:
                        return
                    relay.start()
                    self._relays.append(relay)
            self._is_loaded = True
            services.agent()
            for spec in PLATFORMS:
                if services.platforms.is_configured(spec.name) and not self._is_stopping:
                    load_adapters([spec])
                    platform = services.platforms.get(spec.name)
                    platform.render("Ready.")
                    platform.is_me("")  # asks Telegram for the bot's name, which makes the client and its connection
        except Exception:
            log.exception("the relays or SDKs could not be loaded")
        self._on_loaded()

    def _write_state(self) -> None:
        with self._relays_lock:
            relays = {relay.platform: relay.problem or relay.connected.is_set() for relay in self._relays}
        agent = self.engine.services.settings.agent
        self._state_file.write(
            {
                "agent": agent,
                "loaded": self._is_loaded,
                "public_url": self._address.public_url,
                "relays": relays,
                "simulated": self.chats.simulator is not None,
                "started": self._started_at,
            }
        )

    def _stop_relays(self) -> None:
        """All at once: each may wait for its platform."""
        with self._relays_lock:
            self._is_stopping = True
        stopping = [threading.Thread(target=relay.stop, daemon=True) for relay in self._relays]
        for thread in stopping:
            thread.start()
        deadline = time.monotonic() + RELAY_SECONDS
        for thread in (self._connecting, *stopping):
            thread.join(max(0.0, deadline - time.monotonic()))


def _free_or(address: Address) -> int:
    """The port that was asked for, or the usual one if it is free, or any."""
    if address.port is not None:
        return address.port
    return address.usual_port if _is_free(address.host, address.usual_port) else 0


def _is_free(host: str, port: int) -> bool:
    try:
        socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError:
        return False
    return True
