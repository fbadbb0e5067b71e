"""A function whose event names what it does, run by the real runtime."""

import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from botocore.credentials import Credentials

from local.cloud.runtime.invoker import RuntimeInvoker
from local.cloud.stack import FunctionConfig, Stack

APP = '''
import os, random, socket, sys, threading, uuid
print("module loaded")
count = 0

def handler(event, context):
    global count
    count += 1
    return globals()[event["do"]](event, context)

def echo(event, context):
    return {"event": event, "count": count, "pid": os.getpid()}

def describe(event, context):
    return {
        "environment": dict(os.environ), "cwd": os.getcwd(), "argv": open("/proc/self/cmdline").read().split("\\0"),
        "name": context.function_name, "arn": context.invoked_function_arn, "id": context.aws_request_id,
        "memory": context.memory_limit_in_mb, "remaining": context.get_remaining_time_in_millis(),
    }

def draw(event, context):
    return {"pid": os.getpid(), "numbers": [random.random(), uuid.uuid4().hex]}

def fail(event, context):
    raise KeyError("no such thing")

def leave(event, context):
    os._exit(7)

def hang(event, context):
    threading.Event().wait()

def large(event, context):
    return "x" * event["size"]

def meet(event, context):
    """Says hello at the gate, and goes on when it is let through."""
    with socket.create_connection(("127.0.0.1", event["port"])) as gate:
        gate.sendall(str(os.getpid()).encode() + b"\\n")
        return gate.recv(1).decode()

def speak(event, context):
    print("to stdout")
    print("to stderr", file=sys.stderr)
'''


class Gate:
    """A server that functions connect to during an event, so that a test can hold them."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(20)
        self.port: int = self._listener.getsockname()[1]
        self._guests: list[socket.socket] = []

    def arrival(self) -> tuple[socket.socket, int]:
        """Wait for the next connection; return it with the pid of its process."""
        guest, _ = self._listener.accept()
        guest.settimeout(20)
        self._guests.append(guest)
        return guest, int(guest.makefile().readline())

    def close(self) -> None:
        self._listener.close()
        for guest in self._guests:
            with suppress(OSError):
                guest.close()


@dataclass
class Heard:
    """The log lines and phases that the runtime reported."""

    lines: list[tuple[str, str]] = field(default_factory=list)
    phases: list[tuple[str, str, int]] = field(default_factory=list)


def stack_of(*functions: FunctionConfig) -> Stack:
    return Stack({one.logical_id: one for one in functions}, (), (), (), (), {}, {})


def credentials(role_arn: str) -> Credentials:
    return Credentials(f"key of {role_arn.rpartition('/')[2]}", "s", "t")


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.close()


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def app_root(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(APP)
    return tmp_path


@pytest.fixture
def start(
    app_root: Path, heard: Heard, make_function: Callable[..., FunctionConfig]
) -> Iterator[Callable[..., RuntimeInvoker]]:
    """Start invokers of the given functions; stop them at the end."""
    started: list[RuntimeInvoker] = []

    def start(*functions: FunctionConfig, **options: Any) -> RuntimeInvoker:
        invoker = RuntimeInvoker(
            stack_of(*(functions or (make_function("Echo"),))),
            endpoint="http://127.0.0.1:1",
            root=app_root,
            credentials=credentials,
            on_log=lambda name, line: heard.lines.append((name, line)),
            on_phase=options.pop("on_phase", lambda *phase: heard.phases.append(phase)),
            **options,
        )
        started.append(invoker)
        return invoker

    yield start
    for invoker in started:
        invoker.close()
