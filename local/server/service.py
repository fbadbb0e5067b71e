"""The whole service in one process: file, workers, HTTP, chats. Starts at once after any end, stops within seconds."""

import logging
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from local.options import secrets_from
from local.server.app import build_app
from local.server.chats import open_chats
from local.server.composition import Engine, build_engine, settings_from
from local.server.connections import Connections
from local.server.directory import DataDirectory, Refused, Unusable
from local.server.http import HttpServer
from local.server.settings_file import known_names
from local.server.state_file import EVERY_SECONDS, StateFile
from local.server.tokens import TOKENS, keep_tokens
from local.server.uploads import Uploads
from local.server.work import Work
from local.server.workers import Sweeper
from local.users import USERS
from shared.errors import DataFileError
from shared.sqlite.database import Database
from shared.sqlite.files import DirectoryFiles
from shared.sqlite.secrets import SqliteSecrets
from shared.store.bundle import Store
from shared.use_cases.recovery.restart import take_up

if TYPE_CHECKING:
    from local.chats.simulator import Simulator

log = logging.getLogger(__name__)
STOP_SECONDS = 6.0
"""From the begin of a stop until what still runs is handed back. The rest leaves a loaded machine time until ten."""
LEAST_STOP_SECONDS = 1.0


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

    def __init__(self, directory: DataDirectory, environment: Mapping[str, str], address: Address) -> None:
        self.directory = directory
        self._environment, self._address = environment, address
        self._parts = ExitStack()
        self._deadline = 0.0
        self._is_idle = True

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
        self._parts.close()

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
        enter = self._parts.enter_context
        enter(self._locked())
        database = enter(self._database())
        self.bots, self.chats = open_chats(
            self._environment,
            SqliteSecrets(database),
            has_public_url=bool(self._address.public_url),
            journal=self.directory.chats,
            port=self._address.page_port,
        )
        enter(closing(self.chats))
        self.engine, self.work = self._build(database)
        self.engine.void_leases()
        self._link_people()
        self.http = self._http()
        enter(self._working())
        enter(self._listening())
        self.tokens = self._keep_tokens()
        taken_up = take_up(self.engine.services, self.work.handoffs.wake)
        log.info("started on %s, %d unfinished", self.directory.path, taken_up)
        self.chats.post_to(self.url)
        services, relays = self.engine.services, lambda: self.chats.relays(self.url)
        connections = enter(Connections(services, relays))
        enter(closing(self.engine.held_reads))
        enter(self._write_state(connections))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self.directory.create()
        with self.directory.locked():
            yield

    @contextmanager
    def _database(self) -> Iterator[Database]:
        database = Database(self.directory.database)
        try:
            yield database
        finally:
            if self._is_idle:  # a thread that hangs may still use the file; the end of the process closes it then
                database.close()

    def _build(self, database: Database) -> tuple[Engine, Work]:
        work = Work()
        settings = settings_from(
            self._environment, public_url=self._address.public_url, platform_urls=self.chats.platform_urls()
        )
        secrets = {**self.chats.secrets(), **secrets_from(self._environment)}
        files = DirectoryFiles(self.directory.files)
        files.prepare()
        # Programs that the service starts do not get the secrets of its bots.
        environment = {name: value for name, value in self._environment.items() if name not in known_names()}
        engine = build_engine(
            database,
            settings,
            secrets=secrets,
            on_handoff=work.handoffs.changed,
            files=files,
            environment=environment,
        )
        work.attach(engine)
        return engine, work

    def _link_people(self) -> None:
        try:
            self.chats.seed(self.store)
        except ValueError as taken:  # the data was imported, and its user has another name than the one here
            raise Refused(
                f"{taken}. Nothing was started. That user's replies are read already: remove the variable that ends in "
                "_USER_ID for this platform, and use that user's token (handoff config set token)."
            ) from taken

    def _http(self) -> HttpServer:
        services, only_here = self.engine.services, not self._address.public_url
        return HttpServer(
            build_app(services),
            services,
            sync=self.engine.database.sync,
            only_here=only_here,
            uploads=lambda app: Uploads(app, self.engine.files, services.clock),
        )

    @contextmanager
    def _working(self) -> Iterator[None]:
        """At the end: take no new work, wait for what runs, then hand back what an agent still works on."""
        self.work.start()
        try:
            yield
        finally:
            has_ended = self.work.stop(self._deadline - time.monotonic())
            self._is_idle = self.http.wait_idle(self._deadline - time.monotonic()) and has_ended
            try:
                self.engine.hand_back()
            except DataFileError as error:  # the next start voids the leases; then the turns count as interrupted
                log.error("turns of the agent could not be handed back: %s", error)  # noqa: TRY400  # a traceback adds nothing

    @contextmanager
    def _listening(self) -> Iterator[None]:
        try:
            self.http.start(self._address.host, _free_or(self._address))
        except OSError as error:
            where = f"{self._address.host}:{self._address.port}"
            raise Unusable(f"Cannot listen on {where}: {error.strerror}. Choose another one with --listen.") from error
        try:
            yield
        finally:
            self.http.stop()

    def _keep_tokens(self) -> dict[str, str]:
        users = USERS if self.chats.simulator else USERS[:1]
        now = self.engine.services.clock.now()
        tokens = keep_tokens(self.store.accounts, self.directory.read_env(), users, now=now)
        self.engine.database.sync()
        simulator = {"HANDOFF_SIM_URL": self.chats.simulator.url} if self.chats.simulator else {}
        named = {TOKENS[user]: token for user, token in tokens.items()}
        self.directory.write_env({"HANDOFF_URL": self.url, **named, **simulator})
        return tokens

    @contextmanager
    def _write_state(self, connections: Connections) -> Iterator[None]:
        """Each second, until the end."""
        file, started_at = StateFile(self.directory.state), time.time_ns()

        def write() -> None:
            file.write(
                {
                    "agent": self.engine.services.settings.agent,
                    "loaded": connections.are_started,
                    "public_url": self._address.public_url,
                    "relays": connections.states(),
                    "simulated": self.chats.simulator is not None,
                    "started": started_at,
                }
            )

        writer = Sweeper(write, every=EVERY_SECONDS)
        writer.start()
        try:
            yield
        finally:
            writer.stop(EVERY_SECONDS)


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
