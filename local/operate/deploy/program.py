"""The commands: read options, do one thing, and pass the result to the CLI through a pipe that no other process sees."""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from local.operate.deploy import plan, rights, secret_store, template
from local.operate.deploy.apply import Deploy, refuse
from local.operate.deploy.aws import Account
from local.operate.deploy.checks import checks
from local.operate.deploy.console import Talk
from local.operate.deploy.destroy import Destroy
from local.operate.deploy.first_user import accounts_of, issue
from local.operate.deploy.owner import owner_of
from local.operate.deploy.problems import Stopped, explained
from local.operate.deploy.settings import Settings, settings_from
from local.operate.deploy.stacks import StackState, describe
from local.operate.deploy.webhooks import set_webhooks
from shared.aws.secrets import SsmSecrets

Result = Mapping[str, Any]
_HOLDS = {
    "apply": "What AWS has begun goes on there; a version that serves goes on serving.",
    "destroy": "What was not removed yet is as it was.",
    "check": "Nothing was changed.",
}
UNKNOWN_ACCOUNT, UNKNOWN_REGION = "ACCOUNT", "REGION"


def main(arguments: Sequence[str] | None = None, *, sleep: Callable[[float], None] = time.sleep) -> int:
    """Exit codes: 0 done, 1 failed or refused, 2 wrong usage."""
    os.umask(0o077)
    asked = _parser().parse_args(arguments)
    talk = Talk(is_json=asked.json, yes=getattr(asked, "yes", False), sleep=sleep)
    try:
        with explained(_HOLDS[asked.command]):
            result = COMMANDS[asked.command](asked, talk)
    except Stopped as stopped:
        sys.stderr.write(f"handoff: {stopped}\n")
        _hand_over(asked, {"error": {"code": "stopped", "message": str(stopped)}})
        return stopped.exit_code
    _hand_over(asked, result)
    return 0


def _hand_over(asked: argparse.Namespace, result: Result) -> None:
    """To the CLI that started this process. A token is in it, so it never goes to a terminal or a log."""
    if asked.result_fd is not None:
        with os.fdopen(asked.result_fd, "w") as pipe:
            json.dump(result, pipe)


def _apply(asked: argparse.Namespace, talk: Talk) -> Result:
    settings = settings_from(asked)
    secret_store.check(asked.secret)
    account = Account.of(profile=settings.profile, region=settings.region)
    if asked.policy:
        return _policy(settings, account)
    if asked.dry_run:
        return dry_run(settings, account, talk)
    talk.say(account.line())
    if asked.secret:
        _store_secrets(account, settings, asked.secret, talk)
    with tempfile.TemporaryDirectory(prefix="handoff-deploy-") as directory:
        deploy = Deploy(
            account,
            settings,
            talk,
            asked.version,
            lambda: _bundle(Path(directory), asked.bundle, talk),
            replace_tables=asked.replace_tables,
        )
        stack, is_changed = deploy.run()
    url = stack.outputs["ApiUrl"]
    talk.say(f"{'Deployed' if is_changed else 'Running'}: {url}")
    token = _token(account, settings, stack, asked, talk)
    urls = json.loads(stack.parameters.get("PlatformUrls") or "{}")
    secrets = SsmSecrets(account.ssm, stack.outputs["SecretsPrefix"])
    for line in set_webhooks(secrets, url, urls, options=settings.options, take=asked.take_webhooks):
        talk.say(line)
    result = {
        "stack": stack.name,
        "region": account.region,
        "url": url,
        "changed": is_changed,
        "outputs": stack.outputs,
        "set_up": secret_store.complete(secrets, asked.secret),
    }
    return {**result, **token}


def _token(
    account: Account, settings: Settings, stack: StackState, asked: argparse.Namespace, talk: Talk
) -> Mapping[str, str]:
    """A token for the CLI, unless it has one for this address or shall go on using another service."""
    url = stack.outputs["ApiUrl"]
    if asked.no_token or (asked.known_url == url and not asked.new_token):
        return {}
    if asked.known_url and asked.known_url != url and not asked.switch:
        if not talk.can_ask:
            switching = f"handoff deploy {settings.options} --switch"
            talk.say(f"The CLI goes on using {asked.known_url}. To let it use this deployment: {switching}")
            return {}
        question = f"The CLI uses {asked.known_url}. Let it use this deployment from now on? [y/N] "
        if talk.answer(question, refused="").lower() not in ("y", "yes"):
            return {}
    accounts = accounts_of(account.dynamodb, stack.outputs)
    user = settings.user or asked.default_user
    is_new = user not in accounts.users()
    token = issue(accounts, user, label=f"deploy on {asked.machine}"[:100])
    talk.say(f"{'Added the user' if is_new else 'A new token for'} {user}, with all rights.")
    return {"user": user, "token": token}


def _bundle(directory: Path, given: Path | None, talk: Talk) -> Path:
    """Build the artefact in this directory, or take the one that is given."""
    if given is not None:
        if not given.is_file():
            raise Stopped(f"{given} does not exist. Nothing was changed.")
        return given
    from subprocess import CalledProcessError  # noqa: PLC0415 - only to build

    from local.operate.deploy import bundle  # noqa: PLC0415 - only to build

    version, architecture = template.runtime(template.load())
    talk.say(f"Building the functions for Python {version} on {architecture} ...")
    try:
        built = bundle.build(into=directory)
    except CalledProcessError as error:
        raise Stopped("The packages could not be installed; see the error above. Nothing was changed.") from error
    except (FileNotFoundError, bundle.BundleTooLargeError) as error:
        raise Stopped(f"{getattr(error, 'strerror', None) or error}. Nothing was changed.") from error
    if not any(built.rglob("*.pyc")):
        talk.say(f"This machine has no Python {version}, so the code is not compiled: cold starts take longer.")
    return bundle.write_zip(built)


def _store_secrets(account: Account, settings: Settings, names: list[str], talk: Talk) -> None:
    stack = describe(account.cloudformation, settings.stack)
    if stack is not None:
        refuse(stack, owner_of(account.cloudformation, stack), settings)
    prefix = (stack.parameters.get("SecretsPrefix") if stack else None) or settings.prefix
    secret_store.store(account, prefix, names, talk, stack=settings.stack)


def _document(settings: Settings) -> template.Template:
    document = template.load()
    template.check_parameters(document, settings.given)
    names = {"bucket": "BUCKET", "key": "CODE", "version": "VERSION"}
    values = template.values_of(document, settings.given)
    return template.for_release(document, **names, snap_start=bool(settings.snap_start), values=values)


def _policy(settings: Settings, account: Account) -> Result:
    """Works without credentials: then the account's number is a word to replace."""
    document = _policy_of(settings, account, number=_number(account))
    sys.stdout.write(json.dumps(document, indent=2) + "\n")
    return {}


def _policy_of(settings: Settings, account: Account, *, number: str) -> dict[str, Any]:
    kinds = [resource["Type"] for resource in template.created(_document(settings), settings.given).values()]
    region = account.session.region_name or UNKNOWN_REGION
    return rights.policy(kinds, stack=settings.stack, account=number, region=region, prefix=settings.prefix)


def _number(account: Account) -> str:
    try:
        with explained(""):
            return account.number if account.session.region_name else UNKNOWN_ACCOUNT
    except Stopped:
        return UNKNOWN_ACCOUNT


def dry_run(settings: Settings, account: Account, talk: Talk) -> Result:
    """Works without credentials or a region: then as if there were no stack yet. With both, every error is one."""
    document, deployed, number = _document(settings), None, UNKNOWN_ACCOUNT
    given = dict(settings.given)
    missing = [
        what
        for what, found in (("region", account.session.region_name), ("credentials", account.session.get_credentials()))
        if not found
    ]
    if missing:
        talk.say(f"Without AWS {' and '.join(missing)} this is the plan of a new stack; one that is there is not seen.")
    else:
        talk.say(account.line())
        number = account.number
        if (stack := describe(account.cloudformation, settings.stack)) is not None:
            refuse(stack, owner_of(account.cloudformation, stack), settings)
            talk.say(f"The stack {stack.name} is there: {stack.status}.")
            if stack.outputs:
                deployed = plan.read_deployed(account.cloudformation, stack.id, stack.parameters)
                given = {**stack.parameters, **given}
    policy = _policy_of(replace(settings, parameters=_known(document, given)), account, number=number)
    for line in plan.lines(document, given, deployed, policy, snap_start=bool(settings.snap_start)):
        talk.say(line)
    changes = plan.changes(document, given, deployed)
    return {
        "stack": settings.stack,
        "changes": [{"action": one.action, "resource": one.resource, "type": one.kind} for one in changes],
        "policy": policy,
    }


def _known(document: template.Template, given: Mapping[str, str]) -> dict[str, str]:
    """Without parameters that only an earlier version had."""
    return {name: value for name, value in given.items() if name in document["Parameters"]}


def _destroy(asked: argparse.Namespace, talk: Talk) -> Result:
    settings = settings_from(asked)
    account = Account.of(profile=settings.profile, region=settings.region)
    talk.say(account.line())
    return Destroy(account, settings, talk, delete_data=asked.delete_data).run()


def _check(asked: argparse.Namespace, _: Talk) -> Result:
    settings = settings_from(asked)
    account = Account.of(profile=settings.profile, region=settings.region)
    found = list(checks(account, settings, version=asked.version))
    stack = describe(account.cloudformation, settings.stack)
    return {"url": stack.outputs.get("ApiUrl") if stack else None, "checks": found}


COMMANDS: Mapping[str, Callable[[argparse.Namespace, Talk], Result]] = {
    "apply": _apply,
    "destroy": _destroy,
    "check": _check,
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m local.operate.deploy", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    everywhere = argparse.ArgumentParser(add_help=False)
    for name in ("--stack", "--region", "--profile"):
        everywhere.add_argument(name)
    everywhere.add_argument("--settings", type=Path)
    everywhere.add_argument("--json", action="store_true")
    everywhere.add_argument("--version", default="unknown", help="the version that is deployed")
    everywhere.add_argument("--result-fd", type=int, help="where the result is written, as JSON")
    apply = commands.add_parser("apply", parents=[everywhere])
    apply.add_argument("--set", action="append", metavar="NAME=VALUE")
    apply.add_argument("--bundle", type=Path)
    apply.add_argument("--user")
    apply.add_argument("--default-user", default="owner")
    apply.add_argument("--machine", default="this machine")
    apply.add_argument("--known-url", help="the service for which the CLI has a token")
    apply.add_argument("--snap-start", action=argparse.BooleanOptionalAction)
    apply.add_argument("--secret", action="append", default=[], metavar="NAME")
    flags = (
        "yes",
        "dry-run",
        "policy",
        "new-token",
        "no-token",
        "switch",
        "take-webhooks",
        "replace-tables",
    )
    for flag in flags:
        apply.add_argument(f"--{flag}", action="store_true")
    destroy = commands.add_parser("destroy", parents=[everywhere])
    destroy.add_argument("--yes", action="store_true")
    destroy.add_argument("--delete-data", action="store_true")
    commands.add_parser("check", parents=[everywhere])
    return parser
