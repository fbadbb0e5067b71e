"""`handoff setup PLATFORM --stack NAME`: secrets into SSM, webhooks to the API of the deployment. For the operator."""

import argparse
import json
import os
import shlex
import sys
from collections.abc import Mapping, Sequence

from local.chats.relays.configuration import secret_names
from local.chats.set_up import Person, SetUpFailed, chat_named, set_up
from local.chats.spec import LocalChat
from local.interruptible import interruptible
from local.operate.deploy import secret_store
from local.operate.deploy.aws import Account
from local.operate.deploy.owner import deployed
from local.operate.deploy.problems import Stopped, explained
from local.operate.deploy.settings import Settings
from local.voice import MODEL, URL, Voice, ask_about_voice
from shared.aws.secrets import SsmSecrets
from shared.platforms.set_up import Way
from shared.voice import COMMAND
from shared.voice.openai import KEY

_MACHINE = "the machine of `handoff run`"
ADDRESS = "/api_url"
"""Ends the name of an address that a person gave: no secret, and a parameter of the template."""


def main(
    arguments: Sequence[str] | None = None, *, account: Account | None = None, person: Person | None = None
) -> int:
    """Exit codes: 0 done, 1 failed or refused, 2 wrong usage. Uses the AWS credentials of the environment."""
    asked = _parser().parse_args(arguments)
    person = person or Person()
    try:
        chat = chat_named(asked.platform)
        if chat.spec.here_only:
            return _refused(f"{chat.spec.here_only} Nothing was stored.")
        with explained("What was stored stays; it can be repeated."):
            account = account or Account.of(profile=asked.profile, region=asked.region)
            person.say(account.line())
            url = _set_up(asked, chat, account, person)
    except (SetUpFailed, Stopped) as failed:
        return _refused(str(failed))
    if asked.result_fd is not None:
        with os.fdopen(asked.result_fd, "w") as pipe:
            json.dump({"url": url}, pipe)
    return 0


def _set_up(asked: argparse.Namespace, chat: LocalChat, account: Account, person: Person) -> str:
    """Returns the address of the deployment. Raises SetUpFailed, Stopped, and botocore's errors."""
    settings = Settings(asked.stack, asked.region, asked.profile)
    stack = deployed(account, settings)
    outputs = stack.outputs
    prefix, url = outputs["SecretsPrefix"], outputs["ApiUrl"].rstrip("/")

    def store(values: Mapping[str, str]) -> None:
        for name, value in values.items():
            if name.endswith(ADDRESS):
                person.say(f"Name it to the deployment, too: {_with_address(settings, chat.name, value)}")
                continue
            secret_store.put(account.ssm, prefix, name, value, stack=settings.stack)
        person.say(f"\nStored as SecureString parameters below {prefix}. {secret_store.SEEN}")

    way = Way(
        api_url=os.environ.get(f"{chat.name.upper()}_API_URL") or chat.spec.api_url,
        link_url=chat.spec.link_url,
        webhook_url=f"{url}/webhooks/{chat.name}",
    )
    kept = SsmSecrets(account.ssm, prefix)
    present = {name: kept.get(name) or "" for name in secret_names(chat)}
    set_up(chat, way, store, present, replace=asked.replace, person=person)
    if not stack.parameters.get("VoiceModel") and (voice := ask_about_voice(person, _MACHINE, tries_program=False)):
        if voice.key:
            secret_store.put(account.ssm, prefix, KEY, voice.key, stack=settings.stack)
        person.say(_with_voice(settings, voice))
    return url


def _with_address(settings: Settings, platform: str, url: str) -> str:
    urls = json.dumps({platform: {"api": url}}, separators=(",", ":"))
    return f"handoff deploy {settings.options} --set 'PlatformUrls={urls}'"


def _with_voice(settings: Settings, voice: Voice) -> str:
    if command := voice.settings.get(COMMAND):
        line = f"voice = {json.dumps(shlex.split(command))}"
        return f"Write this into runner.toml there, beside the config file, and start `handoff run` again:\n{line}"
    names = {"VoiceModel": voice.settings[MODEL], "VoiceUrl": voice.settings.get(URL, "")}
    given = " ".join(f"--set {name}={shlex.quote(value)}" for name, value in names.items() if value)
    return f"Name it to the deployment, too: handoff deploy {settings.options} {given}"


def _refused(text: str) -> int:
    sys.stderr.write(f"handoff: {text}\n")
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="handoff setup", description=__doc__)
    parser.add_argument("platform")
    parser.add_argument("--stack", required=True)
    parser.add_argument("--region")
    parser.add_argument("--profile")
    parser.add_argument("--replace", action="store_true")
    parser.add_argument("--result-fd", type=int, help="where the address of the deployment is written, for the client")
    return parser


if __name__ == "__main__":
    sys.exit(interruptible(main, "Stopped. It can be repeated."))
