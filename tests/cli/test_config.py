"""Where URL and token come from, and `handoff config`."""

import os
import stat
from pathlib import Path

import pytest

from handoff_cli.config.file import config_path
from handoff_cli.config.sources import load
from handoff_cli.errors import UsageProblem
from tests.cli.conftest import Run, User
from tests.support.fault_proxy import FaultProxy


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path / "home")}


def _local_env(directory: Path, url: str) -> Path:
    path = directory / ".local" / "env"
    path.parent.mkdir(mode=0o700, parents=True)
    path.write_text(f"# written by make run\nexport HANDOFF_URL='{url}'\nHANDOFF_TOKEN=local\n")
    path.chmod(0o600)
    return path


def _data_env(directory: Path, url: str) -> Path:
    """The file that `handoff up` writes."""
    path = directory / "handoff" / "env"
    path.parent.mkdir(mode=0o700, parents=True)
    path.write_text(f"HANDOFF_URL={url}\nHANDOFF_TOKEN=data\n")
    path.chmod(0o600)
    return path


def _config(environ: dict[str, str], text: str) -> None:
    path = config_path(environ)
    path.parent.mkdir(parents=True)
    path.write_text(text)


def test_flags_then_environment_then_file_then_local_env(home: dict[str, str], tmp_path: Path) -> None:
    _local_env(tmp_path, "http://127.0.0.1:4")
    _config(home, 'url = "http://127.0.0.1:3"\ntoken = "file"\n')
    variables = {**home, "HANDOFF_URL": "http://127.0.0.1:2", "HANDOFF_TOKEN": "environment"}
    found = [
        load(url="http://127.0.0.1:1", token="flag", environ=variables, directory=tmp_path),
        load(url=None, token=None, environ=variables, directory=tmp_path),
        load(url=None, token=None, environ=home, directory=tmp_path),
    ]
    config_path(home).unlink()
    found.append(load(url=None, token=None, environ=home, directory=tmp_path))
    assert [c.url[-1] for c in found] == ["1", "2", "3", "4"]
    assert [c.token for c in found] == ["flag", "environment", "file", "local"]


def test_the_nearest_local_env_above_is_found(home: dict[str, str], tmp_path: Path) -> None:
    _local_env(tmp_path, "http://127.0.0.1:1")
    _local_env(tmp_path / "a", "http://127.0.0.1:2")
    deep = tmp_path / "a" / "b" / "c"
    deep.mkdir(parents=True)
    assert load(url=None, token=None, environ=home, directory=deep).url.endswith(":2")


def test_the_service_of_handoff_up_is_found(home: dict[str, str], tmp_path: Path) -> None:
    usual = _data_env(Path(home["HOME"]) / ".local" / "share", "http://127.0.0.1:5")
    found = load(url=None, token=None, environ=home, directory=tmp_path)
    assert (found.url, found.token) == ("http://127.0.0.1:5", "data")
    assert (found.url_from, found.token_from) == (str(usual), str(usual))
    _data_env(tmp_path / "xdg", "http://127.0.0.1:6")
    given = {**home, "XDG_DATA_HOME": str(tmp_path / "xdg")}
    assert load(url=None, token=None, environ=given, directory=tmp_path).url.endswith(":6")


def test_a_project_with_a_local_env_comes_before_handoff_up(home: dict[str, str], tmp_path: Path) -> None:
    _data_env(Path(home["HOME"]) / ".local" / "share", "http://127.0.0.1:5")
    _local_env(tmp_path / "project", "http://127.0.0.1:4")
    found = [load(url=None, token=None, environ=home, directory=d) for d in (tmp_path / "project", tmp_path)]
    assert [(c.url[-1], c.token) for c in found] == [("4", "local"), ("5", "data")]


@pytest.mark.parametrize(("url", "mode"), [("https://attacker.example", 0o600), ("http://127.0.0.1:5", 0o666)])
def test_the_env_file_of_handoff_up_is_trusted_no_more(
    home: dict[str, str], tmp_path: Path, url: str, mode: int
) -> None:
    path = _data_env(Path(home["HOME"]) / ".local" / "share", url)
    path.chmod(mode)
    with pytest.raises(UsageProblem, match=f"{path} was ignored"):
        load(url=None, token=None, environ=home, directory=tmp_path)


@pytest.mark.parametrize(
    "url", ["https://attacker.example", "http://127.0.0.1.attacker.example", "http://localhost@attacker.example", ""]
)
def test_a_cloned_repository_cannot_name_a_service(home: dict[str, str], tmp_path: Path, url: str) -> None:
    _local_env(tmp_path, "http://127.0.0.1:4")
    _local_env(tmp_path / "cloned", url)
    variables = {**home, "HANDOFF_TOKEN": "mine"}
    found = load(url=None, token=None, environ=variables, directory=tmp_path / "cloned")
    assert (found.url, found.token) == ("http://127.0.0.1:4", "mine")


def test_a_cloned_repository_cannot_lend_its_token(home: dict[str, str], tmp_path: Path) -> None:
    _local_env(tmp_path, "")
    found = load(url="https://mine.example", token=None, environ=home, directory=tmp_path)
    assert found.token is None


def test_an_ignored_local_env_is_said_with_the_reason(run_alone: Run, tmp_path: Path) -> None:
    path = _local_env(tmp_path, "https://attacker.example")
    done = run_alone("platforms")
    assert done.returncode == 2
    assert f"{path} was ignored: such a file can only name a service on this machine" in done.stderr


@pytest.mark.parametrize("writable", [".local", ".local/env"])
def test_a_local_env_that_others_can_write_is_ignored(home: dict[str, str], tmp_path: Path, writable: str) -> None:
    _local_env(tmp_path, "http://127.0.0.1:4")
    (tmp_path / writable).chmod(0o777)
    with pytest.raises(UsageProblem, match="chmod go-w"):
        load(url=None, token=None, environ=home, directory=tmp_path)


@pytest.mark.parametrize("foreign", [".local", "env"])
def test_a_local_env_of_another_user_is_ignored(
    home: dict[str, str], tmp_path: Path, foreign: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _local_env(tmp_path, "http://127.0.0.1:4")
    lstat = Path.lstat

    def owned(path: Path) -> os.stat_result:
        found = list(lstat(path))
        found[stat.ST_UID] += path.name == foreign
        return os.stat_result(found)

    monkeypatch.setattr(Path, "lstat", owned)
    with pytest.raises(UsageProblem, match="another user"):
        load(url=None, token=None, environ=home, directory=tmp_path)


def test_a_linked_local_env_is_ignored(home: dict[str, str], tmp_path: Path) -> None:
    path = _local_env(tmp_path / "mine", "http://127.0.0.1:4")
    (tmp_path / "cloned").mkdir()
    (tmp_path / "cloned" / ".local").symlink_to(path.parent)
    with pytest.raises(UsageProblem, match="symbolic link"):
        load(url=None, token=None, environ=home, directory=tmp_path / "cloned")


def test_an_unencrypted_url_needs_a_word(home: dict[str, str], tmp_path: Path) -> None:
    def url(environ: dict[str, str], *, insecure: bool = False) -> str:
        return load(url="http://10.0.0.7", token=None, environ=environ, directory=tmp_path, insecure=insecure).url

    with pytest.raises(UsageProblem, match="--insecure"):
        url(home)
    assert url(home, insecure=True) == url({**home, "HANDOFF_INSECURE": "1"}) == "http://10.0.0.7"


def test_config_saves_an_unencrypted_url_only_with_a_word(run_alone: Run, tmp_path: Path) -> None:
    assert run_alone("config", "set", "url", "http://10.0.0.7").returncode == 2
    assert not (tmp_path / "home" / ".config" / "handoff" / "config.toml").exists()
    assert run_alone("config", "set", "url", "http://10.0.0.7", "--insecure").returncode == 0


def test_the_checkout_of_the_launcher_comes_last(home: dict[str, str], tmp_path: Path) -> None:
    _local_env(tmp_path / "checkout", "http://127.0.0.1:5")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    found = load(
        url=None, token=None, environ={**home, "HANDOFF_CHECKOUT": str(tmp_path / "checkout")}, directory=elsewhere
    )
    assert found.url.endswith(":5")


def test_the_config_file_follows_xdg(tmp_path: Path) -> None:
    assert config_path({"HOME": "/h", "XDG_CONFIG_HOME": "/x"}) == Path("/x/handoff/config.toml")
    assert config_path({"HOME": "/h", "XDG_CONFIG_HOME": "relative"}) == Path("/h/.config/handoff/config.toml")


def test_a_token_from_a_file_is_not_sent_to_another_host(home: dict[str, str], tmp_path: Path) -> None:
    _config(home, 'url = "https://mine.example"\ntoken = "secret"\n')
    mine = load(url="https://mine.example/", token=None, environ=home, directory=tmp_path)
    other = load(url="https://other.example", token=None, environ=home, directory=tmp_path)
    assert (mine.token, other.token) == ("secret", None)


@pytest.mark.parametrize(
    "url", ["localhost:8787", "ftp://x", "http://", "http://h:99999", "https://user:pw@host", "http://[::1"]
)
def test_an_invalid_url_is_refused(home: dict[str, str], tmp_path: Path, url: str) -> None:
    with pytest.raises(UsageProblem, match="URL"):
        load(url=url, token=None, environ=home, directory=tmp_path)


def test_an_invalid_config_file_is_named(home: dict[str, str], tmp_path: Path) -> None:
    _config(home, "url = ")
    with pytest.raises(UsageProblem, match=r"config\.toml"):
        load(url=None, token=None, environ=home, directory=tmp_path)


def test_without_a_url_it_says_what_to_do(home: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="handoff up"):
        load(url=None, token=None, environ=home, directory=tmp_path)


@pytest.mark.parametrize("token", ["ключ", "line\nbreak"])
def test_an_invalid_token_is_refused(home: dict[str, str], tmp_path: Path, token: str) -> None:
    with pytest.raises(UsageProblem, match="token"):
        load(url="http://127.0.0.1:1", token=token, environ=home, directory=tmp_path)


def test_config_is_written_for_its_owner_only(run: Run, proxy: FaultProxy, user: User, tmp_path: Path) -> None:
    none = {"HANDOFF_URL": "", "HANDOFF_TOKEN": ""}
    assert run("config", "set", "url", proxy.url, **none).returncode == 0
    assert run("config", "set", "token", stdin=f"{user.token}\n", **none).returncode == 0
    path = tmp_path / "home" / ".config" / "handoff" / "config.toml"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert run("platforms", **none).returncode == 0
    shown = run("config", "show", **none).stdout
    assert proxy.url in shown
    assert user.token not in shown
    assert run("config", "unset", "token", **none).returncode == 0
    assert run("platforms", **none).returncode == 1


@pytest.mark.parametrize("url", ["host", "ftp://host", "http://", "https://me@host"])
def test_config_does_not_save_an_invalid_url(run_alone: Run, tmp_path: Path, url: str) -> None:
    assert run_alone("config", "set", "url", url).returncode == 2
    assert not (tmp_path / "home" / ".config" / "handoff" / "config.toml").exists()


def test_config_home_is_saved_on_the_service(run: Run, user: User) -> None:
    done = run("config", "home", "slack", "C0GENERAL")
    assert (done.returncode, "C0GENERAL" in done.stdout) == (0, True)
    homes = {platform["name"]: platform["home"] for platform in user.api.platforms()}
    assert homes["slack"] == {"chat": "C0GENERAL"}
