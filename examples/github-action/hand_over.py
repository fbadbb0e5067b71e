"""The step of action.yml: hand the context of a failed job over to a thread, with the `handoff` command beside this Python."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

MOST_BYTES = 100_000
"""Of the log: a message has at most 256 KiB."""
FACTS = {
    "repository": "GITHUB_REPOSITORY",
    "workflow": "GITHUB_WORKFLOW",
    "job": "GITHUB_JOB",
    "commit": "GITHUB_SHA",
    "branch": "GITHUB_REF_NAME",
    "started by": "GITHUB_ACTOR",
}


def main(environ: Mapping[str, str]) -> int:
    """The exit code of `handoff send`. Likely secrets in the log are masked before it leaves the machine."""
    title = f"{environ.get('GITHUB_WORKFLOW', 'job')}: {environ.get('GITHUB_JOB', 'failed')}"
    program = Path(sys.executable).with_name("handoff")
    command: list[str | Path] = [
        program,
        "send",
        environ["INPUT_PLATFORM"],
        "--transcript",
        "-",
        "--title",
        title,
        "--redact",
        "--yes",
    ]
    if environ.get("INPUT_TO"):
        command += ["--to", environ["INPUT_TO"]]
    text = json.dumps([{"role": "user", "content": context(environ)}])
    done = subprocess.run([*command, "--json"], input=text, env=environ, stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603  # our own program, its arguments as a list
    thread = (json.loads(done.stdout).get("thread") or {}).get("url", "") if done.stdout.strip() else ""
    for name, line in (("GITHUB_OUTPUT", f"thread={thread}"), ("GITHUB_STEP_SUMMARY", f"Handed over: {thread}")):
        if thread and environ.get(name):
            with Path(environ[name]).open("a") as file:
                file.write(f"{line}\n")
    print(f"Handed over: {thread}" if done.returncode == 0 else f"The handoff failed (exit code {done.returncode}).")
    return done.returncode


def context(environ: Mapping[str, str]) -> str:
    """What the agent is told: the facts of the run, the end of the log, the question."""
    facts = [f"- {name}: {environ[variable]}" for name, variable in FACTS.items() if environ.get(variable)]
    run = "{GITHUB_SERVER_URL}/{GITHUB_REPOSITORY}/actions/runs/{GITHUB_RUN_ID}"
    if environ.get("GITHUB_RUN_ID"):
        facts.append(f"- run: {run.format_map(environ)}, attempt {environ.get('GITHUB_RUN_ATTEMPT', '1')}")
    parts = ["A job of our continuous integration has failed.", "\n".join(facts), *log(environ)]
    return "\n\n".join([*parts, environ.get("INPUT_QUESTION", "")]).strip()


def log(environ: Mapping[str, str]) -> list[str]:
    """The last lines of the log, as a block of code; nothing if no log was named or it cannot be read."""
    path = Path(environ.get("INPUT_LOG") or os.devnull)
    if not path.is_file():
        return []
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - MOST_BYTES))
        lines = file.read().decode(errors="replace").splitlines()[-int(environ.get("INPUT_LINES") or 200) :]
    fence = "````"
    return ["The end of its output:", "\n".join([fence, *lines, fence])]


if __name__ == "__main__":
    sys.exit(main(os.environ))
