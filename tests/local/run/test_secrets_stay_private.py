"""Another user of this machine reads no secret of a local run: not in files, on command lines or in environments."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest

from local.paths import TRANSLATED
from tests.local.run.conftest import AGENT_KEY, LocalRun
from tests.support.processes import environment, open_files


@pytest.fixture(scope="module")
def secrets(local_run: LocalRun) -> list[bytes]:
    """Tokens, the agent's key, the credentials of all functions, and all values in the parameter store."""
    found = {local_run.variables["HANDOFF_TOKEN"], local_run.variables["HANDOFF_OTHER_TOKEN"], AGENT_KEY}
    for variables in map(environment, local_run.processes):
        if "AWS_SESSION_TOKEN" not in variables:
            continue
        found |= {variables["AWS_SECRET_ACCESS_KEY"], variables["AWS_SESSION_TOKEN"]}
        if variables["_HANDLER"].startswith("functions.turn."):
            found |= set(stored(variables))
    assert len(found) > 10
    return [secret.encode() for secret in found]


def stored(variables: dict[str, str]) -> list[str]:
    ssm = boto3.client(
        "ssm",
        endpoint_url=variables["AWS_ENDPOINT_URL"],
        region_name=variables["AWS_REGION"],
        aws_access_key_id=variables["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=variables["AWS_SECRET_ACCESS_KEY"],
        aws_session_token=variables["AWS_SESSION_TOKEN"],
    )
    prefix = variables["SECRETS_PREFIX"].rstrip("/")
    page = ssm.get_parameters_by_path(Path=prefix, Recursive=True, WithDecryption=True)
    return [one["Value"] for one in page["Parameters"]]


def files(run: LocalRun) -> Iterator[Path]:
    """The files that the run wrote, cached or still has open."""
    for directory in (run.directory, TRANSLATED):
        yield from (path for path in directory.rglob("*") if path.is_file())
    opened = (Path(name) for name in open_files(run.processes) if name.startswith("/") and name != str(run.output))
    yield from (path for path in opened if path.is_file() and os.access(path, os.W_OK))


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_files_with_secrets_are_for_their_owner_only(local_run: LocalRun, secrets: list[bytes]) -> None:
    secret_files = {path for path in files(local_run) if any(secret in path.read_bytes() for secret in secrets)}
    assert secret_files == {local_run.directory / ".local" / "env"}
    assert {mode(path) for path in secret_files} == {0o600}
    assert mode(local_run.directory / ".local") == 0o700


def test_nothing_secret_is_printed(local_run: LocalRun, secrets: list[bytes]) -> None:
    output = local_run.output.read_bytes()
    assert output
    assert [secret for secret in secrets if secret in output] == []


def test_no_command_line_has_a_secret(local_run: LocalRun, secrets: list[bytes]) -> None:
    lines = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in local_run.processes]
    assert any(b"local" in line for line in lines)
    assert [line for line in lines for secret in secrets if secret in line] == []


def test_environments_are_readable_by_their_user_only(local_run: LocalRun) -> None:
    environments = [Path(f"/proc/{pid}/environ") for pid in local_run.processes]
    assert {(mode(path), path.stat().st_uid) for path in environments} == {(0o400, os.getuid())}


def test_functions_do_not_see_the_variables_of_the_user(local_run: LocalRun) -> None:
    holders = [pid for pid in local_run.processes if AGENT_KEY in environment(pid).values()]
    functions = [pid for pid in local_run.processes if "_HANDLER" in environment(pid)]
    assert functions
    assert set(holders).isdisjoint(functions)
