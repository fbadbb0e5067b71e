"""`--help` is quick, because nothing is imported before it is needed."""

import subprocess
import sys
import time

HEAVY = ("httpx", "rich", "prompt_toolkit", "segno", "sqlite3", "asyncio", "ssl")


def _fastest(argv: list[str], environ: dict[str, str]) -> float:
    times = []
    for _ in range(7):
        began = time.perf_counter()
        subprocess.run(argv, env=environ, check=True, capture_output=True)
        times.append(time.perf_counter() - began)
    return min(times)


def test_help_takes_at_most_eight_times_a_bare_interpreter(environ: dict[str, str]) -> None:
    bare = _fastest([sys.executable, "-c", "pass"], environ)
    assert _fastest([sys.executable, "-m", "handoff_cli", "--help"], environ) <= 8 * bare


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
