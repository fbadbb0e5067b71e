"""Find the service to talk to: flags, environment, config file, then the first trusted env file of this machine."""

import ipaddress
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from handoff_cli.config.file import KEYS, config_path, read_config
from handoff_cli.config.local_env import distrust, env_files, read_env
from handoff_cli.errors import UsageProblem


@dataclass(frozen=True)
class Configuration:
    """URL of the service and your token for it, each with its source."""

    url: str
    token: str | None
    url_from: str
    token_from: str | None
    proxy: str | None = None


@dataclass(frozen=True)
class _Source:
    name: str
    values: Mapping[str, str]
    is_file: bool = False
    ignored: str | None = None


def load(
    *, url: str | None, token: str | None, environ: Mapping[str, str], directory: Path, insecure: bool = False
) -> Configuration:
    """The first source with a value wins. Raises UsageProblem without a URL; a missing token is left to the service."""
    sources = list(_sources(url=url, token=token, environ=environ, directory=directory))
    found_url = next((s for s in sources if s.values.get("url")), None)
    if found_url is None:
        ignored = "".join(f"{s.name} was ignored: {s.ignored}. " for s in sources if s.ignored)
        raise UsageProblem(
            f"No service is configured. {ignored}Start one on this machine with `handoff up`, or set yours with "
            "--url, HANDOFF_URL or `handoff config set url https://…`."
        )
    address = checked_url(found_url.values["url"], found_url.name, insecure=insecure or _is_insecure(environ))
    found_token = next((s for s in sources if s.values.get("token") and _may_send(s, address)), None)
    if found_token and not (found_token.values["token"].isascii() and found_token.values["token"].isprintable()):
        raise UsageProblem(f"The token (from {found_token.name}) has invalid characters. Set it again.")
    return Configuration(
        url=address,
        token=found_token.values["token"] if found_token else None,
        url_from=found_url.name,
        token_from=found_token.name if found_token else None,
        proxy=_proxy(address, environ),
    )


def _sources(*, url: str | None, token: str | None, environ: Mapping[str, str], directory: Path) -> Iterator[_Source]:
    yield _Source("flags", {"url": url or "", "token": token or ""})
    yield _Source("environment", _from_variables(environ))
    path = config_path(environ)
    yield _Source(str(path), read_config(path), is_file=True)
    for env in env_files(environ, directory):
        ignored = distrust(env)
        values = {} if ignored else _from_variables(read_env(env))
        ignored = ignored or _beyond(values["url"])
        yield _Source(str(env), {} if ignored else values, is_file=True, ignored=ignored)
        if not ignored:
            return


def _beyond(url: str) -> str | None:
    """A cloned repository may bring such a file: it must not choose who gets transcripts, or as whom they are sent."""
    return None if url and is_loopback(url) else "such a file can only name a service on this machine"


def _is_insecure(environ: Mapping[str, str]) -> bool:
    return environ.get("HANDOFF_INSECURE", "") not in {"", "0"}


def _from_variables(variables: Mapping[str, str]) -> dict[str, str]:
    return {key: variables.get(f"HANDOFF_{key.upper()}", "").strip() for key in KEYS}


def checked_url(url: str, source: str, *, insecure: bool = False) -> str:
    """The URL without its last slash. Raises UsageProblem if it is not valid, or not encrypted beyond this machine."""
    try:
        parts = urlsplit(url)
        valid = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        valid = False
    if not valid:
        raise UsageProblem(f"The service's URL (from {source}) is not valid: {url!r}. Use a form like https://host.")
    if parts.username is not None:
        raise UsageProblem(f"The service's URL (from {source}) has a user name. Remove it and set a token instead.")
    if parts.scheme == "http" and not insecure and not is_loopback(url):
        raise UsageProblem(
            f"The service's URL (from {source}) is not encrypted: others on the network could read your messages and "
            f"your token. Use https://{parts.netloc}, or add --insecure if you trust the network."
        )
    return url.rstrip("/")


def is_loopback(url: str) -> bool:
    """Is the host this machine?"""
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _proxy(url: str, environ: Mapping[str, str]) -> str | None:
    """The proxy that the environment sets for this URL, without its password; used in messages only."""
    parts = urlsplit(url)
    names = (f"{parts.scheme}_proxy", "all_proxy")
    found = next((environ[key] for name in names for key in (name, name.upper()) if environ.get(key)), None)
    excepted = (environ.get("no_proxy") or environ.get("NO_PROXY") or "").replace(" ", "").split(",")
    host = parts.hostname or ""
    if found is None or is_loopback(url) or any(name == "*" or (name and host.endswith(name)) for name in excepted):
        return None
    return re.sub(r"//[^/@]*@", "//", found)


def _may_send(source: _Source, url: str) -> bool:
    """A token from a file that also has a URL is sent to that URL only, or to this machine."""
    own_url = source.values.get("url", "").rstrip("/")
    return not source.is_file or not own_url or own_url == url or is_loopback(url)
