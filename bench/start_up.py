"""Start-up time of the CLI and of each function, as multiples of a bare interpreter's."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from bench.figures import Figures

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 7
FUNCTIONS = ("request", "status", "webhook", "process", "turn", "agent", "sweep")


def run(figures: Figures) -> Iterator[str]:
    """The fastest of several rounds, so that other load on the machine matters less."""
    bare = best(["-c", "pass"])
    yield f"bare interpreter: {bare * 1000:.0f} ms"
    cli = best(["-P", "-m", "handoff_cli", "--help"])
    figures.note("cli ratio", cli / bare)
    yield f"handoff --help: {ratio(cli, bare)}"
    for name in FUNCTIONS:
        yield f"import functions.{name}.handler: {ratio(best(['-c', f'import functions.{name}.handler']), bare)}"
    clients = "from shared.aws.clients import LazyClient; LazyClient('dynamodb', region_name='x').exceptions"
    yield f"boto3 and a DynamoDB client: {ratio(best(['-c', clients]), bare)}"


def best(arguments: list[str]) -> float:
    """The shortest of several starts, in seconds."""
    return min(_once(arguments) for _ in range(ROUNDS))


def ratio(seconds: float, bare: float) -> str:
    return f"{seconds / bare:.1f} × bare"


def _once(arguments: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments],
        check=True,
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT}:{ROOT / 'cli'}", "PATH": ""},
        stdout=subprocess.DEVNULL,
    )
    return time.perf_counter() - began
