"""Where the service's address and token come from, and which source wins."""

from pathlib import Path

import pytest

from handoff_cli.config.sources import config_path, load
from handoff_cli.errors import UsageProblem


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path / "home")}


def _local_env(directory: Path, url: str) -> None:
    (directory / ".local").mkdir(parents=True)
    (directory / ".local" / "env").write_text(
        f"# written by make run\nexport HANDOFF_URL='{url}'\nHANDOFF_TOKEN=local\n"
    )


def _config(environ: dict[str, str], text: str) -> None:
    path = config_path(environ)
    path.parent.mkdir(parents=True)
    path.write_text(text)


def test_flags_beat_environment_beats_file_beats_local_env(home: dict[str, str], tmp_path: Path) -> None:
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


def test_the_nearest_local_env_upwards_is_found(home: dict[str, str], tmp_path: Path) -> None:
    _local_env(tmp_path, "http://127.0.0.1:1")
    _local_env(tmp_path / "a", "http://127.0.0.1:2")
    deep = tmp_path / "a" / "b" / "c"
    deep.mkdir(parents=True)
    assert load(url=None, token=None, environ=home, directory=deep).url.endswith(":2")


def test_the_launchers_checkout_is_the_last_resort(home: dict[str, str], tmp_path: Path) -> None:
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


def test_a_files_token_is_not_sent_to_another_host(home: dict[str, str], tmp_path: Path) -> None:
    _config(home, 'url = "https://mine.example"\ntoken = "secret"\n')
    mine = load(url="https://mine.example/", token=None, environ=home, directory=tmp_path)
    other = load(url="https://other.example", token=None, environ=home, directory=tmp_path)
    assert (mine.token, other.token) == ("secret", None)


@pytest.mark.parametrize(
    "url", ["localhost:8787", "ftp://x", "http://", "http://h:99999", "https://user:pw@host", "http://[::1"]
)
def test_what_is_not_a_url_is_refused(home: dict[str, str], tmp_path: Path, url: str) -> None:
    with pytest.raises(UsageProblem, match="URL"):
        load(url=url, token=None, environ=home, directory=tmp_path)


def test_a_broken_config_file_is_refused_by_name(home: dict[str, str], tmp_path: Path) -> None:
    _config(home, "url = ")
    with pytest.raises(UsageProblem, match=r"config\.toml"):
        load(url=None, token=None, environ=home, directory=tmp_path)


def test_without_any_source_it_says_what_to_do(home: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="make run"):
        load(url=None, token=None, environ=home, directory=tmp_path)


@pytest.mark.parametrize("token", ["ключ", "line\nbreak"])
def test_what_cannot_be_a_token_is_refused(home: dict[str, str], tmp_path: Path, token: str) -> None:
    with pytest.raises(UsageProblem, match="token"):
        load(url="http://127.0.0.1:1", token=token, environ=home, directory=tmp_path)
