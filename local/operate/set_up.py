"""`handoff setup PLATFORM --stack NAME`: secrets into SSM, webhooks to the API of the deployment. For the operator."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from local.chats.relays.configuration import secret_names
from local.chats.set_up import Person, SetUpFailed, chat_named, set_up
from local.interruptible import interruptible
from shared.aws.secrets import SsmSecrets, parameter_of
from shared.platforms.set_up import Way

ADDRESS = "/api_url"
"""Ends the name of an address that a person gave: no secret, and a parameter of the template."""
Client = Callable[[str], Any]


def main(arguments: Sequence[str] | None = None, *, client: Client = boto3.client, person: Person | None = None) -> int:
    """Exit codes: 0 done, 1 failed or refused, 2 wrong usage. Uses the AWS credentials of the environment."""
    asked = _parser().parse_args(arguments)
    person = person or Person()
    try:
        chat = chat_named(asked.platform)
        if chat.spec.here_only:
            return _refused(f"{chat.spec.here_only} Nothing was stored.")
        outputs = _outputs(client("cloudformation"), asked.stack)
        prefix, ssm = outputs["SecretsPrefix"], client("ssm")

        def store(values: Mapping[str, str]) -> None:
            for name, value in values.items():
                if name.endswith(ADDRESS):
                    person.say(f"Name it to the deployment, too: {_with_address(asked, chat.name, value)}")
                    continue
                ssm.put_parameter(Name=parameter_of(prefix, name), Value=value, Type="SecureString", Overwrite=True)
            person.say(
                f"\nStored as SecureString parameters below {prefix}. Running functions see new ones within a minute, and "
                "changed ones once their containers are replaced."
            )

        way = Way(
            api_url=os.environ.get(f"{chat.name.upper()}_API_URL") or chat.spec.api_url,
            link_url=chat.spec.link_url,
            webhook_url=f"{outputs['ApiUrl'].rstrip('/')}/webhooks/{chat.name}",
        )
        kept = SsmSecrets(ssm, prefix)
        present = {name: kept.get(name) or "" for name in secret_names(chat)}
        set_up(chat, way, store, present, replace=asked.replace, person=person)
    except SetUpFailed as failed:
        return _refused(str(failed))
    except KeyError as missing:
        return _refused(f"The stack {asked.stack} has no output {missing}: it is not one of Handoff, or not complete.")
    except (BotoCoreError, ClientError) as error:
        return _refused(f"AWS refused: {error}\nCheck region, credentials and the stack's name. It can be repeated.")
    if asked.result_fd is not None:
        with os.fdopen(asked.result_fd, "w") as pipe:
            json.dump({"url": outputs["ApiUrl"].rstrip("/")}, pipe)
    return 0


def _with_address(asked: argparse.Namespace, platform: str, url: str) -> str:
    urls = json.dumps({platform: {"api": url}}, separators=(",", ":"))
    return f"handoff deploy --stack {asked.stack} --set 'PlatformUrls={urls}'"


def _outputs(cloudformation: Any, stack: str) -> Mapping[str, str]:
    (found,) = cloudformation.describe_stacks(StackName=stack)["Stacks"]
    return {output["OutputKey"]: output["OutputValue"] for output in found.get("Outputs", ())}


def _refused(text: str) -> int:
    sys.stderr.write(f"handoff: {text}\n")
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="handoff setup", description=__doc__)
    parser.add_argument("platform")
    parser.add_argument("--stack", required=True)
    parser.add_argument("--replace", action="store_true")
    parser.add_argument("--result-fd", type=int, help="where the address of the deployment is written, for the client")
    return parser


if __name__ == "__main__":
    sys.exit(interruptible(main, "Stopped. It can be repeated."))
