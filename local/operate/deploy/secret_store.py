"""Secrets of platforms and of the agent: asked for without showing them, stored encrypted, never an argument."""

import getpass
import secrets
import sys

from local.operate.deploy.aws import Account
from local.operate.deploy.console import Talk
from local.operate.deploy.problems import Stopped, WrongUsage
from shared.aws.secrets import SsmSecrets, parameter_of
from shared.platforms import PLATFORMS
from shared.platforms.set_up import Way, guide_of

AGENT_KEY = "agent/key"


def known_names() -> list[str]:
    return [
        AGENT_KEY,
        *(name for spec in PLATFORMS if not spec.here_only for name in (*spec.secrets, *spec.optional_secrets)),
    ]


def check(names: list[str]) -> None:
    """Raise WrongUsage for a name that no function would read."""
    for spec in PLATFORMS:
        if spec.here_only and set(spec.secrets) & set(names):
            raise WrongUsage(f"{spec.here_only} Nothing was changed.")
    for name in names:
        if name not in known_names():
            raise WrongUsage(f"There is no secret {name}. There are: {', '.join(known_names())}.")


def store(account: Account, prefix: str, names: list[str], talk: Talk) -> None:
    """Ask for each: hidden at a terminal, else one line of stdin for each. Raises Stopped before anything is stored."""
    generated = _generated(names)
    values = {name: _asked(name, talk) for name in names}
    present = SsmSecrets(account.ssm, prefix)
    for name in generated:
        if name not in values and not present.get(name):
            values[name] = secrets.token_hex(32)
    for name, value in values.items():
        parameter = parameter_of(prefix, name)
        account.ssm.put_parameter(Name=parameter, Value=value, Type="SecureString", Overwrite=True)
        talk.say(f"Stored {name} as {parameter}, encrypted. Functions that run now read it when they start again.")


def _generated(names: list[str]) -> list[str]:
    """Secrets that no person chooses, of the platforms to which `names` belong."""
    try:
        return [
            name
            for spec in PLATFORMS
            if spec.is_supported and any(secret in names for secret in spec.secrets)
            for name in guide_of(spec).generated(Way(spec.api_url, spec.link_url, webhook_url="https:"))
        ]
    except ImportError as missing:
        raise Stopped(
            f"The secrets of platforms need their libraries ({missing.name} is missing). Nothing was changed. "
            "Install handoff-live[deploy,server]."
        ) from missing


def _asked(name: str, talk: Talk) -> str:
    value = getpass.getpass(f"{name} (not shown): ") if talk.can_ask else sys.stdin.readline()
    if not value.strip():
        raise Stopped(f"No value was given for {name}. Nothing was changed.")
    return value.strip()
