"""`--help` is quick: modules are imported when they are needed."""

import subprocess
import sys
import time

HEAVY = ("httpx", "rich", "prompt_toolkit", "segno", "shtab", "wcwidth", "sqlite3", "asyncio", "ssl", "json", "hashlib")


def _seconds(argv: list[str], environ: dict[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, *argv], env=environ, check=True, capture_output=True)
    return time.perf_counter() - began


def test_help_takes_at_most_eight_times_a_bare_interpreter(environ: dict[str, str]) -> None:
    # Alternating, and the best of each: load on the machine affects both.
    rounds = [
        (_seconds(["-c", "pass"], environ), _seconds(["-m", "handoff_cli", "--help"], environ)) for _ in range(15)
    ]
    assert min(ours for _, ours in rounds) <= 8 * min(bare for bare, _ in rounds)


def test_help_imports_nothing_heavy(environ: dict[str, str]) -> None:
    program = (
        "import sys\n"
        "from handoff_cli.main import main\n"
        "try: main(['--help'], environ={})\n"
        "except SystemExit: pass\n"
        f"print(sorted(set({HEAVY!r}) & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
