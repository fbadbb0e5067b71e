"""`handoff up --install`: the unit, what it never holds, and what a repeat changes."""

import os
import plistlib
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from handoff_cli.service_unit.launchd import Launchd
from handoff_cli.service_unit.systemd import Systemd, text_of
from handoff_cli.service_unit.unit import ServiceUnit
from tests.cli.conftest import PROGRAM, Done

COMMAND = ["/opt/my tools/python", "-P", "-m", "handoff_cli", "up", '--data=/srv/50% "$HOME" a\\b\'c']
UNIT = ServiceUnit("handoff", "Handoff", COMMAND, Path("/srv/data"), {"PYTHONPATH": "/opt/a %b $c"}, final=(2, 3))
SECRET = "4:not-for-units"


@dataclass
class FakeSystemctl:
    """Records what is asked for; `refuses` are the verbs that fail."""

    refuses: Sequence[str] = ()
    asked: list[str] = field(default_factory=list)

    def __call__(self, command: Sequence[str]) -> int:
        self.asked.append(shlex.join(command))
        return 1 if set(self.refuses) & set(command) else 0


def words_of(text: str) -> list[str]:
    """What systemd starts, read back from a unit."""
    (line,) = (line for line in text.splitlines() if line.startswith("ExecStart="))
    return [
        word.replace("$$", "$").replace("%%", "%") for word in shlex.split(line.removeprefix("ExecStart="), posix=True)
    ]


def test_every_word_of_the_command_survives_the_unit() -> None:
    assert words_of(text_of(UNIT)) == COMMAND
    assert 'Environment="PYTHONPATH=/opt/a %%b $c"' in text_of(UNIT)
    with pytest.raises(ValueError, match="cannot stand in a unit"):
        text_of(ServiceUnit("handoff", "Handoff", ["/bin/a\nExecStart=/bin/b"], Path("/srv")))


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    command = [sys.executable, *COMMAND[1:]]
    unit = ServiceUnit("handoff", "Handoff", command, tmp_path, UNIT.environment, final=(2, 3))
    path = Systemd(tmp_path, FakeSystemctl()).install(unit).path
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)}
    verify = ["systemd-analyze", "--user", "verify", str(path)]
    checked = subprocess.run(verify, env=environ, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_an_installed_unit_is_enabled_and_a_repeat_changes_nothing(tmp_path: Path) -> None:
    systemctl = FakeSystemctl()
    first = Systemd(tmp_path, systemctl).install(UNIT)
    second = Systemd(tmp_path, systemctl).install(UNIT)

    assert first.path == second.path == tmp_path / "handoff.service"
    assert (first.is_changed, second.is_changed) == (True, False)
    assert (first.to_do, second.to_do) == ([], [])
    assert systemctl.asked == ["systemctl --user daemon-reload", "systemctl --user enable handoff.service"] * 2
    assert "RestartPreventExitStatus=2 3\n" in first.path.read_text()
    assert "KillMode=mixed\n" in first.path.read_text(), "an agent must not be ended before its runner has answered"
    assert list(tmp_path.iterdir()) == [first.path]


def test_without_a_user_bus_the_commands_are_told(tmp_path: Path) -> None:
    installed = Systemd(tmp_path, FakeSystemctl(refuses=["--user"])).install(UNIT)
    assert installed.path.is_file()
    assert installed.to_do == ["systemctl --user daemon-reload", "systemctl --user enable handoff.service"]


def test_a_unit_is_stopped_before_it_is_removed(tmp_path: Path) -> None:
    systemctl = FakeSystemctl()
    path = Systemd(tmp_path, systemctl).install(UNIT).path
    systemctl.asked.clear()

    assert Systemd(tmp_path, systemctl).remove("handoff").path == path
    assert systemctl.asked == ["systemctl --user disable --now handoff.service", "systemctl --user daemon-reload"]
    assert not path.exists()
    assert Systemd(tmp_path, systemctl).remove("handoff").path is None


def test_a_unit_that_cannot_be_stopped_stays(tmp_path: Path) -> None:
    path = Systemd(tmp_path, FakeSystemctl()).install(UNIT).path
    removed = Systemd(tmp_path, FakeSystemctl(refuses=["disable"])).remove("handoff")
    assert (removed.path, removed.to_do) == (None, ["systemctl --user disable --now handoff.service"])
    assert path.exists()


def test_without_a_user_bus_a_unit_is_removed_with_its_link(tmp_path: Path) -> None:
    path = Systemd(tmp_path, FakeSystemctl()).install(UNIT).path
    link = tmp_path / "default.target.wants" / path.name
    link.parent.mkdir()
    link.symlink_to(path)

    removed = Systemd(tmp_path, FakeSystemctl(refuses=["--user"])).remove("handoff")

    assert (removed.path, removed.to_do) == (path, ["systemctl --user daemon-reload"])
    assert not link.is_symlink()


def test_launchd_gets_a_property_list(tmp_path: Path) -> None:
    installed = Launchd(tmp_path, FakeSystemctl(refuses=["print"])).install(UNIT)
    agent = plistlib.loads(installed.path.read_bytes())

    assert installed.path == tmp_path / "live.handoff.plist"
    assert agent["Label"] == "live.handoff"
    assert agent["ProgramArguments"] == COMMAND
    assert agent["KeepAlive"] == {"SuccessfulExit": False}
    assert agent["EnvironmentVariables"] == {**UNIT.environment, "HANDOFF_SUPERVISOR": "launchd"}
    assert not Launchd(tmp_path, FakeSystemctl()).install(UNIT).is_changed
    assert Launchd(tmp_path, FakeSystemctl()).remove("handoff").path == installed.path
    assert Launchd(tmp_path, FakeSystemctl()).remove("handoff").path is None


# --- the command


Handoff = Callable[..., Done]


@pytest.fixture
def home(environ: dict[str, str]) -> Path:
    home = Path(environ["HOME"])
    home.mkdir()
    return home


@pytest.fixture
def handoff(environ: dict[str, str], home: Path) -> Handoff:
    def run(*arguments: str, **extra: str) -> Done:
        return subprocess.run(
            [*PROGRAM, *arguments],
            env={**environ, **extra},
            cwd=home,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    return run


def test_no_secret_gets_into_the_unit(handoff: Handoff, environ: dict[str, str], home: Path) -> None:
    installed = handoff("up", "--install", "--data", "my data", TELEGRAM_BOT_TOKEN=SECRET, HANDOFF_AGENT_KEY=SECRET)

    assert installed.returncode == 0, installed.stderr
    unit, settings = home / ".config/systemd/user/handoff.service", home / "my data" / "settings"
    assert words_of(unit.read_text())[1:] == ["-P", "-m", "handoff_cli", "up", f"--data={home / 'my data'}"]
    assert f'Environment="PATH={environ["PATH"]}"' in unit.read_text(), "the runner looks for agents there"
    assert settings.stat().st_mode & 0o777 == 0o600
    assert SECRET not in unit.read_text() + settings.read_text() + installed.stdout
    assert "the service will not see: HANDOFF_AGENT_KEY, TELEGRAM_BOT_TOKEN" in installed.stdout
    for told in (str(unit), str(settings), "start", "journalctl", "up --uninstall"):
        assert told in installed.stdout

    settings.write_text("HANDOFF_AGENT=openai\n")
    again = handoff("up", "--install", "--data", "my data", "--listen", "127.0.0.1:9")
    assert settings.read_text() == "HANDOFF_AGENT=openai\n"
    assert "will not start: HANDOFF_AGENT=openai needs HANDOFF_AGENT_MODEL" in again.stdout
    assert "--listen=127.0.0.1:9" in unit.read_text()
    assert handoff("up", "--uninstall").returncode == 0
    assert (unit.exists(), settings.exists()) == (False, True)


def test_options_that_would_be_refused_install_nothing(handoff: Handoff, home: Path) -> None:
    refused = handoff("up", "--install", "--listen", "0.0.0.0:80")
    assert (refused.returncode, "plain http" in refused.stderr) == (2, True)
    assert list(home.iterdir()) == []


@pytest.mark.tier("deep")
def test_what_the_unit_starts_is_the_service(handoff: Handoff, home: Path) -> None:
    handoff("up", "--install", "--data", "data", "--listen", "127.0.0.1:0")
    text = (home / ".config/systemd/user/handoff.service").read_text()
    variables = [line.removeprefix("Environment=") for line in text.splitlines() if line.startswith("Environment=")]
    environ = dict(shlex.split(line)[0].split("=", 1) for line in variables)
    service = subprocess.Popen(words_of(text), env=environ, cwd="/", stdout=subprocess.PIPE, text=True)
    try:
        assert service.stdout
        assert any("Ctrl-C stops it" in line for line in service.stdout)
        second = subprocess.run(words_of(text), env=environ, cwd="/", capture_output=True, text=True, check=False)
        launchd = {**environ, "HANDOFF_SUPERVISOR": "launchd"}
        third = subprocess.run(words_of(text), env=launchd, cwd="/", capture_output=True, text=True, check=False)
        service.send_signal(signal.SIGTERM)
        assert service.wait(30) == 0
    finally:
        service.kill()
        service.communicate()
    assert (second.returncode, third.returncode) == (3, 0), second.stderr
    assert f"process {service.pid}" in second.stderr
    assert f"process {service.pid}" in third.stderr
