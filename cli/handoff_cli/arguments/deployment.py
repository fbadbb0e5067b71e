"""Commands for a deployment on AWS."""

import argparse
from typing import Any

from handoff_cli.arguments.parts import FILE, add_argument, add_command, add_stack, explain

_DEPLOY = """\
{}

It builds the functions, uploads them, shows what AWS would change and asks before it applies
that. It adds you as the first user and lets this CLI use the deployment. The same command
upgrades; repeat it after any interruption. It uses the AWS credentials of this terminal."""

_DEPLOY_MORE = """\
try it:
  handoff deploy --dry-run                  # needs no credentials and changes nothing
  handoff deploy --region eu-central-1
  handoff deploy --secret telegram/bot_token
  handoff deploy --set Agent=openai --set AgentModel=NAME --secret agent/key

settings, for --settings FILE:
  stack = "handoff-team"                    # several stacks may be side by side
  region = "eu-central-1"
  snap_start = false
  [parameters]                              # those that are not named keep their values
  Agent = "bedrock"
  AlarmEmail = "ops@example.org"

exit codes: 0 deployed   1 failed or refused   2 wrong usage
  130 interrupted: what AWS has begun goes on there"""


def deploy(commands: Any) -> None:
    text = "Run the service in your AWS account: create it, or upgrade it."
    deploy = add_command(commands, "deploy", text, "deploy:deploy", connects=False)
    explain(deploy, _DEPLOY, _DEPLOY_MORE)
    add_stack(deploy, "name of the CloudFormation stack (default: handoff)")
    add_argument(
        deploy, "--settings", metavar="FILE", completes=FILE, help="a TOML file, see below; options win over it"
    )
    deploy.add_argument(
        "--set", action="append", metavar="NAME=VALUE", help="a parameter of the template, such as Agent=bedrock"
    )
    deploy.add_argument("--user", metavar="NAME", help="the first user (default: your name on this machine)")
    deploy.add_argument(
        "--snap-start",
        action=argparse.BooleanOptionalAction,
        help="shorter cold starts for about $23 a month, see docs/deploy.md (default: as it is)",
    )
    ready = "an artefact that `make bundle` has built, instead of building one"
    add_argument(deploy, "--bundle", metavar="FILE", completes=FILE, help=ready)
    look = deploy.add_mutually_exclusive_group()
    look.add_argument("--dry-run", action="store_true", help="show the plan, the rights and the costs, and stop")
    look.add_argument("--policy", action="store_true", help="print the IAM policy that a deployer needs, and stop")
    deploy.add_argument("--yes", action="store_true", help="apply the plan without a question")
    deploy.add_argument(
        "--secret",
        action="append",
        metavar="NAME",
        help="ask for this secret (or read it from stdin) and store it: agent/key, telegram/bot_token …; may be repeated",
    )
    deploy.add_argument(
        "--switch", action="store_true", help="let this CLI use it, even if it uses another service now"
    )
    deploy.add_argument("--new-token", action="store_true", help="issue a new token even if this CLI has one")
    deploy.add_argument("--no-token", action="store_true", help="issue none, for example in CI")
    deploy.add_argument("--take-webhooks", action="store_true", help="let bots that post elsewhere post here")
    deploy.add_argument(
        "--replace-tables", action="store_true", help="accept a plan that replaces tables by empty ones"
    )

    text = "Remove the service from your AWS account. Data is kept unless you say otherwise."
    destroy = add_command(commands, "destroy", text, "deploy:destroy", connects=False)
    destroy.set_defaults(settings=None)
    add_stack(destroy, "name of the CloudFormation stack (default: handoff)")
    destroy.add_argument(
        "--delete-data", action="store_true", help="also tables, queues, secrets and the uploaded code"
    )
    destroy.add_argument("--yes", action="store_true", help="do not ask")
