"""Secrets of platforms and of the agent: asked for without showing them, stored encrypted, never an argument."""

import getpass
import secrets
import sys
from typing import Any

from botocore.exceptions import ClientError

from local.operate.deploy.aws import Account
from local.operate.deploy.console import Talk
from local.operate.deploy.problems import Stopped, WrongUsage, code_of
from shared.aws.secrets import SsmSecrets, parameter_of
from shared.platforms import PLATFORMS
from shared.platforms.set_up import Way, guide_of
from shared.ports.secrets import Secrets

AGENT_KEY = "agent/key"
_STACK = "handoff:stack"
"""The tag of each parameter: the name of the stack. Other programs may keep theirs below the same path."""
SEEN = "Functions that run now see a new secret within a minute, and a changed one once their containers are replaced."


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


def put(ssm: Any, prefix: str, name: str, value: str, *, stack: str) -> str:
    """Store a secret, encrypted and tagged, in place of one that is there. Returns the name of the parameter."""
    parameter, tags = parameter_of(prefix, name), [{"Key": _STACK, "Value": stack}]
    try:
        ssm.put_parameter(Name=parameter, Value=value, Type="SecureString", Tags=tags)
    except ClientError as error:
        if code_of(error) != "ParameterAlreadyExists":
            raise
        # SSM takes no tags together with a new value. The tag comes first: without it the value might be found by nobody.
        ssm.add_tags_to_resource(ResourceType="Parameter", ResourceId=parameter, Tags=tags)
        ssm.put_parameter(Name=parameter, Value=value, Type="SecureString", Overwrite=True)
    return parameter


def stored(ssm: Any, prefix: str, *, stack: str, by_name: bool) -> tuple[list[str], list[str]]:
    """The parameters of this stack below the prefix, and those of others there. All are listed before this returns.

    Its own carry its tag. With `by_name`, so do those that its functions read: earlier versions stored them without a tag.
    """
    prefix = prefix.rstrip("/")
    pages = ssm.get_paginator("get_parameters_by_path")
    found = [
        one["Name"]
        for path in (prefix, f"{prefix}-agent")
        for page in pages.paginate(Path=path, Recursive=True)
        for one in page["Parameters"]
    ]
    read = {parameter_of(prefix, name) for name in known_names()} if by_name else set()
    own = [name for name in found if name in read or _stack_of(ssm, name) == stack]
    return own, [name for name in found if name not in own]


def _stack_of(ssm: Any, parameter: str) -> str | None:
    try:
        tags = ssm.list_tags_for_resource(ResourceType="Parameter", ResourceId=parameter)["TagList"]
    except ClientError as error:
        if code_of(error) != "InvalidResourceId":  # it was deleted in the meantime
            raise
        return None
    return next((one["Value"] for one in tags if one["Key"] == _STACK), None)


def store(account: Account, prefix: str, names: list[str], talk: Talk, *, stack: str) -> None:
    """Ask for each: hidden at a terminal, else one line of stdin for each. Raises Stopped before anything is stored."""
    generated = _generated(names)
    values = {name: _asked(name, talk) for name in names}
    present = SsmSecrets(account.ssm, prefix)
    for name in generated:
        if name not in values and not present.get(name):
            values[name] = secrets.token_hex(32)
    for name, value in values.items():
        talk.say(f"Stored {name} as {put(account.ssm, prefix, name, value, stack=stack)}, encrypted.")
    talk.say(SEEN)


def complete(secrets: Secrets, names: list[str]) -> list[str]:
    """The platforms of these secrets that have all of theirs, so that running functions will serve them."""
    return [
        spec.name
        for spec in PLATFORMS
        if spec.is_supported and set(spec.secrets) & set(names) and all(map(secrets.get, spec.secrets))
    ]


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
