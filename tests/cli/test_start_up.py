"""`--help` is quick: modules are imported when they are needed."""

import subprocess
import sys

HEAVY = ("httpx", "rich", "prompt_toolkit", "segno", "shtab", "wcwidth", "sqlite3", "asyncio", "ssl", "json", "hashlib")


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
