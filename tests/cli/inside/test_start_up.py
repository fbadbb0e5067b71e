"""What agents wait for must not be felt: the hook before each prompt, and the tool before their first answer."""

import json
import subprocess
import sys
import time

CLIENT = (
    "httpx",
    "rich",
    "prompt_toolkit",
    "segno",
    "shtab",
    "wcwidth",
    "sqlite3",
    "asyncio",
    "ssl",
    "hashlib",
    "argparse",
)
HEAVY = (*CLIENT, "pathlib", "dataclasses")
EVENT = json.dumps({"session_id": "s1", "cwd": "/", "hook_event_name": "UserPromptSubmit", "prompt": "and the tests?"})


def _seconds(argv: list[str], environ: dict[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, *argv], env=environ, check=True, capture_output=True, input=EVENT.encode())
    return time.perf_counter() - began


def test_an_ordinary_prompt_imports_nothing_heavy(environ: dict[str, str]) -> None:
    program = (
        "import sys\n"
        "from handoff_cli.__main__ import start\n"
        "sys.argv = ['handoff', 'hook', 'claude-code']\n"
        "try: start()\n"
        "except SystemExit as end: assert not end.code\n"
        f"print(sorted(set({HEAVY!r}) & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=environ, input=EVENT, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr.strip()) == ("", "[]")


def test_the_tool_of_an_agent_imports_nothing_of_the_client(environ: dict[str, str]) -> None:
    program = (
        "import sys\n"
        "from handoff_cli.inside.mcp.send_tool import main\n"
        "sys.argv = ['send_tool', 's1', '/']\n"
        "main()\n"
        f"print(sorted(set({CLIENT!r}) & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=environ, input="", capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr.strip()) == ("", "[]")


def test_an_ordinary_prompt_takes_at_most_six_times_a_bare_interpreter(environ: dict[str, str]) -> None:
    # Alternating, and the best of each: load on the machine affects both.
    command = ["-m", "handoff_cli", "hook", "claude-code"]
    rounds = [(_seconds(["-c", "pass"], environ), _seconds(command, environ)) for _ in range(10)]
    assert min(ours for _, ours in rounds) <= 6 * min(bare for bare, _ in rounds)
