"""`handoff deploy` against an account on loopback: create, upgrade, and every way in which it can be interrupted."""

import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from local.operate.deploy import template
from local.operate.deploy.bucket import bucket_name
from local.operate.deploy.first_user import accounts_of
from local.paths import ROOT
from shared.domain.tokens import Scope
from shared.use_cases.people.authenticate import authenticate
from tests.local.operate.deploy.conftest import Operator
from tests.support.emulated_aws import EmulatedAws
from tests.support.fake_cloudformation import FakeStack, error
from tests.support.servers import DROP, Response
from tests.support.waiting import eventually

Said = pytest.CaptureFixture[str]


def stack_of(aws: EmulatedAws, name: str = "handoff") -> FakeStack:
    return aws.formation.live(name)


def after(count: int, action: str, answer: Response) -> Callable[[str], Response | None]:
    """Answer in this way from the `count`-th such call on."""
    seen = [0]

    def fault(asked: str) -> Response | None:
        seen[0] += asked == action
        return answer if asked == action and seen[0] >= count else None

    return fault


def test_a_first_deploy_creates_what_the_template_says(operator: Operator, aws: EmulatedAws, capsys: Said) -> None:
    assert operator.deploy("--set", "AlarmEmail=ops@example.org") == 0

    stack, document = stack_of(aws), template.load()
    assert stack.status == "CREATE_COMPLETE"
    assert stack.parameters["AlarmEmail"] == "ops@example.org"
    assert set(stack.template["Resources"]) == set(document["Resources"])
    said = capsys.readouterr().out
    planned = set(re.findall(r"^  \+ (\w+)  ", said, re.MULTILINE))
    wanted = template.created(document, {"AlarmEmail": "ops@example.org"})
    assert planned == {name for name, one in wanted.items() if one["Type"] != "AWS::Lambda::Permission"}
    assert said.index("Plan to create") < said.index("create_complete")


def test_the_code_is_private_and_named_by_its_content(operator: Operator, aws: EmulatedAws) -> None:
    operator.deploy()
    s3, bucket = aws.client("s3"), bucket_name(aws.cloud.engine.account_id, "us-east-1")
    keys = [one["Key"] for one in s3.list_objects_v2(Bucket=bucket)["Contents"]]
    assert all(re.fullmatch(r"handoff/[0-9a-f]{64}\.(zip|json)", key) for key in keys)
    functions = [one for one in stack_of(aws).template["Resources"].values() if one["Type"] == template.FUNCTION]
    assert {one["Properties"]["Code"]["S3Key"] for one in functions} <= set(keys)
    assert all(s3.get_public_access_block(Bucket=bucket)["PublicAccessBlockConfiguration"].values())
    rules = s3.get_bucket_encryption(Bucket=bucket)["ServerSideEncryptionConfiguration"]["Rules"]
    assert rules[0]["ApplyServerSideEncryptionByDefault"]["SSEAlgorithm"] == "AES256"


def test_the_first_user_gets_a_token_that_works(operator: Operator, aws: EmulatedAws, capsys: Said) -> None:
    operator.deploy("--user", "anna")
    accounts = accounts_of(aws.client("dynamodb"), stack_of(aws).outputs)
    token = operator.result["token"]
    caller = authenticate(accounts, f"Bearer {token}", now=0)
    assert (caller.user_id, caller.token.scopes) == ("anna", frozenset(Scope))
    said = capsys.readouterr()
    assert token not in said.out + said.err
    assert token not in "".join(aws.formation.said)


def test_a_deploy_without_changes_changes_nothing(operator: Operator, aws: EmulatedAws, capsys: Said) -> None:
    operator.deploy()
    url, before = operator.result["url"], list(stack_of(aws).events)
    assert operator.deploy(f"--known-url={url}") == 0
    assert "Nothing to change" in capsys.readouterr().out
    assert operator.result["changed"] is False
    assert "token" not in operator.result
    assert stack_of(aws).events == before
    assert aws.formation.asked.count("ExecuteChangeSet") == 1
    assert aws.formation.change_sets.keys() == {next(iter(aws.formation.change_sets))}  # that of the first deploy


def test_an_upgrade_changes_the_functions_and_keeps_parameters(
    operator: Operator, aws: EmulatedAws, capsys: Said
) -> None:
    operator.deploy("--set", "LogLevel=DEBUG")
    capsys.readouterr()
    operator.code("second")
    assert operator.deploy("--version=1.1") == 0
    said = capsys.readouterr().out
    assert set(re.findall(r"^  ~ (\w+)  ", said, re.MULTILINE)) == {
        name for name, one in template.load()["Resources"].items() if one["Type"] == template.FUNCTION
    }
    assert stack_of(aws).parameters["LogLevel"] == "DEBUG"
    assert stack_of(aws).outputs["Release"].startswith("1.1 ")


def test_stacks_side_by_side_share_nothing_but_the_bucket(operator: Operator, aws: EmulatedAws) -> None:
    operator.deploy("--stack", "one")
    operator.deploy("--stack", "two")
    one, two = stack_of(aws, "one"), stack_of(aws, "two")
    assert (one.parameters["SecretsPrefix"], two.parameters["SecretsPrefix"]) == ("/one", "/two")
    assert one.outputs["SessionsTableName"] != two.outputs["SessionsTableName"]


# --- plans that are not applied


def test_without_an_answer_nothing_is_left(operator: Operator, aws: EmulatedAws, capsys: Said) -> None:
    code = operator.run("apply", f"--bundle={operator.bundle}")
    assert code == 2
    assert "--yes" in capsys.readouterr().err
    assert [stack.status for stack in aws.formation.stacks.values()] == ["DELETE_COMPLETE"]
    assert aws.formation.change_sets == {}


def test_a_plan_that_replaces_a_table_is_refused(
    operator: Operator, aws: EmulatedAws, monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    operator.deploy()
    changed = template.load()
    changed["Resources"]["SessionsTable"]["Properties"]["KeySchema"][0]["AttributeName"] = "user_id"
    monkeypatch.setattr(template, "load", lambda: json.loads(json.dumps(changed)))
    assert operator.deploy() == 1
    said = capsys.readouterr()
    assert "~ SessionsTable  DynamoDB::Table  REPLACED" in said.out
    assert "WARNING: SessionsTable" in said.out
    assert "--replace-tables" in said.err
    assert aws.formation.asked.count("ExecuteChangeSet") == 1
    assert operator.deploy("--replace-tables") == 0


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ("Agnet=bedrock", "no parameter Agnet"),
        ("Agent=claude", "none of rehearsal"),
        ("Strikes=0", "less than 1"),
        ("Strikes=x", "not a number"),
        ("AlarmEmail=nobody", "another form"),
        ("AgentUrl=https://me:secret@host", "user name or password"),
    ],
)
def test_a_wrong_parameter_is_refused_before_anything_is_done(
    operator: Operator, aws: EmulatedAws, capsys: Said, given: str, word: str
) -> None:
    assert operator.deploy("--set", given) == 2
    assert word in capsys.readouterr().err
    assert aws.client("s3").list_buckets()["Buckets"] == []
    assert "CreateChangeSet" not in aws.formation.asked


def test_a_stack_of_something_else_is_left_alone(operator: Operator, aws: EmulatedAws, capsys: Said) -> None:
    aws.formation.stacks["x"] = FakeStack("handoff", "arn:x:stack/handoff/1", "ROLLBACK_COMPLETE")
    assert operator.deploy() == 1
    assert "not one of Handoff" in capsys.readouterr().err
    assert operator.run("destroy", "--yes") == 1
    assert "DeleteStack" not in aws.formation.asked


# --- interruptions: the same command ends well


def test_a_failed_creation_is_explained_and_repeated(operator: Operator, aws: EmulatedAws, capsys: Said) -> None:
    aws.formation.fail_on["AgentFunction"] = "The quota of the account is used up"
    assert operator.deploy() == 1
    said = capsys.readouterr()
    assert "AgentFunction: The quota of the account is used up" in said.err
    assert "What it had made is removed" in said.err
    assert stack_of(aws).status == "ROLLBACK_COMPLETE"

    assert operator.deploy() == 0
    assert "removing what it left" in capsys.readouterr().out
    assert stack_of(aws).status == "CREATE_COMPLETE"


def test_a_failed_upgrade_leaves_the_old_version_serving(operator: Operator, aws: EmulatedAws, capsys: Said) -> None:
    operator.deploy()
    before = stack_of(aws).outputs["Release"]
    operator.code("second")
    aws.formation.fail_on["WebhookFunction"] = "Broken"
    assert operator.deploy() == 1
    assert "The version before serves as it did" in capsys.readouterr().err
    stack = stack_of(aws)
    assert (stack.status, stack.outputs["Release"]) == ("UPDATE_ROLLBACK_COMPLETE", before)

    assert operator.deploy() == 0
    assert stack_of(aws).status == "UPDATE_COMPLETE"
    assert stack_of(aws).outputs["Release"] != before


def test_a_failed_roll_back_is_finished_first(operator: Operator, aws: EmulatedAws, capsys: Said) -> None:
    operator.deploy()
    operator.code("second")
    aws.formation.fail_on["WebhookFunction"] = "Broken"
    aws.formation.fail_rollback = True
    assert operator.deploy() == 1
    assert stack_of(aws).status == "UPDATE_ROLLBACK_FAILED"
    assert operator.deploy() == 0
    assert "finishing it" in capsys.readouterr().out
    assert stack_of(aws).status == "UPDATE_COMPLETE"


def test_expired_credentials_are_explained_and_aws_goes_on(operator: Operator, aws: EmulatedAws, capsys: Said) -> None:
    aws.formation.faults = [after(3, "DescribeStackEvents", error("ExpiredToken", "The token has expired", 403))]
    assert operator.deploy() == 1
    said = capsys.readouterr().err
    assert "Sign in again, then repeat" in said
    assert "goes on there" in said
    assert stack_of(aws).status == "CREATE_IN_PROGRESS"

    aws.formation.faults = []
    assert operator.deploy() == 0
    said = capsys.readouterr().out
    assert "Following it" in said
    assert "Nothing to change" in said
    assert operator.result["token"]
    assert aws.formation.asked.count("ExecuteChangeSet") == 1


def test_a_connection_that_is_lost_while_following_is_waited_out(
    operator: Operator, aws: EmulatedAws, capsys: Said
) -> None:
    lost = [0]

    def fault(action: str) -> Response | None:
        if action == "DescribeStackEvents" and "ExecuteChangeSet" in aws.formation.asked and lost[0] < 6:
            lost[0] += 1
            return DROP
        return None

    aws.formation.faults = [fault]
    assert operator.deploy() == 0
    assert lost[0] == 6
    assert "Asking again" in capsys.readouterr().out


def test_a_lost_answer_to_the_start_starts_once(operator: Operator, aws: EmulatedAws) -> None:
    formation, lost = aws.formation, [False]

    def fault(action: str) -> Response | None:
        if action == "ExecuteChangeSet" and not lost[0]:
            lost[0] = True
            (change_set,) = formation.change_sets
            formation._ExecuteChangeSet({"ChangeSetName": change_set})
            return DROP
        return None

    formation.faults = [fault]
    assert operator.deploy() == 0
    assert formation.asked.count("ExecuteChangeSet") == 2
    assert [event["ResourceStatus"] for event in stack_of(aws).events].count("CREATE_IN_PROGRESS") == 1


def test_ctrl_c_ends_the_display_and_aws_goes_on(
    operator: Operator, aws: EmulatedAws, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[str] = []

    def hold(action: str) -> Response | None:
        """Nothing happens for as long as it is looked at."""
        if action == "DescribeStackEvents" and "ExecuteChangeSet" in aws.formation.asked:
            looks.append(action)
            return error("Throttling", "Rate exceeded")
        return None

    aws.formation.faults = [hold]
    command = [sys.executable, "-m", "local.operate.deploy", "apply", "--yes", f"--bundle={operator.bundle}"]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, text=True) as process:
        eventually(lambda: len(looks) > 1, within=60)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "What AWS has begun goes on there" in said
    assert stack_of(aws).status == "CREATE_IN_PROGRESS"

    aws.formation.faults = []
    assert operator.deploy("--version=unknown") == 0
    assert "Nothing to change" in capsys.readouterr().out
    assert aws.formation.asked.count("ExecuteChangeSet") == 1


def test_a_plan_overtaken_by_another_deploy_is_not_applied(operator: Operator, aws: EmulatedAws, capsys: Said) -> None:
    operator.deploy()
    operator.code("second")

    def overtake(action: str) -> None:
        if action == "ExecuteChangeSet":
            for change_set in aws.formation.change_sets.values():
                change_set.execution = "OBSOLETE"

    aws.formation.faults = [overtake]
    assert operator.deploy() == 1
    assert "changed by another deploy" in capsys.readouterr().err


def test_a_plan_that_was_never_applied_is_made_again(operator: Operator, aws: EmulatedAws) -> None:
    aws.formation._new_stack("handoff")  # a deploy that was killed while it asked
    assert operator.deploy() == 0
    assert len(aws.formation.stacks) == 1


def test_a_half_removed_stack_is_not_deployed_to(operator: Operator, aws: EmulatedAws, capsys: Said) -> None:
    operator.deploy()
    stack_of(aws).status = "DELETE_FAILED"
    assert operator.deploy() == 1
    assert "handoff destroy" in capsys.readouterr().err


def test_missing_rights_and_credentials_are_explained(
    operator: Operator, aws: EmulatedAws, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    denied = "User: anna is not authorized to perform: cloudformation:CreateChangeSet"
    aws.formation.faults = [after(1, "CreateChangeSet", error("AccessDenied", denied, 403))]
    assert operator.deploy() == 1
    assert "--policy" in capsys.readouterr().err
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    assert operator.deploy() == 1
    assert "no usable AWS credentials" in capsys.readouterr().err
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    assert operator.deploy() == 1
    assert "--region" in capsys.readouterr().err


# --- tokens


def test_an_interrupted_deploy_leaves_no_spare_token(operator: Operator, aws: EmulatedAws) -> None:
    operator.deploy("--user", "anna")  # and then the CLI is killed before it saves the token
    operator.deploy("--user", "anna")
    accounts = accounts_of(aws.client("dynamodb"), stack_of(aws).outputs)
    assert [token.label for token in accounts.tokens("anna")] == ["deploy on this machine"]
    assert authenticate(accounts, f"Bearer {operator.result['token']}", now=0).user_id == "anna"


def test_a_cli_of_another_service_is_left_alone(operator: Operator, aws: EmulatedAws, capsys: Said) -> None:
    assert operator.deploy("--known-url=https://other.example.org") == 0
    assert "token" not in operator.result
    assert "--switch" in capsys.readouterr().out
    operator.deploy("--known-url=https://other.example.org", "--switch")
    assert operator.result["token"]


def test_the_key_of_the_agent_reaches_only_the_secret_store(
    operator: Operator, aws: EmulatedAws, capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Piped:
        def isatty(self) -> bool:
            return False

        def readline(self) -> str:
            return "sk-very-secret\n"

    monkeypatch.setattr("sys.stdin", Piped())
    assert operator.deploy("--secret=agent/key", "--set", "Agent=openai") == 0
    stored = aws.client("ssm").get_parameter(Name="/handoff-agent/key", WithDecryption=True)["Parameter"]
    assert (stored["Value"], stored["Type"]) == ("sk-very-secret", "SecureString")
    said = capsys.readouterr()
    everything = [said.out, said.err, json.dumps(operator.result), *aws.formation.said]
    s3 = aws.client("s3")
    for bucket in s3.list_buckets()["Buckets"]:
        keys = [one["Key"] for one in s3.list_objects_v2(Bucket=bucket["Name"]).get("Contents", ())]
        everything += [str(s3.get_object(Bucket=bucket["Name"], Key=key)["Body"].read()) for key in keys]
    assert not [text for text in everything if "sk-very-secret" in text]


def test_a_webhook_secret_is_made_for_a_bot(
    operator: Operator, aws: EmulatedAws, monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("123:token\n"))
    assert operator.deploy("--secret=telegram/bot_tokn") == 2
    assert "telegram/bot_token" in capsys.readouterr().err
    urls = json.dumps({"telegram": {"api": "http://127.0.0.1:1/bot"}})
    assert operator.deploy("--secret=telegram/bot_token", f"--set=PlatformUrls={urls}") == 0
    stored = aws.client("ssm").get_parameters_by_path(Path="/handoff", Recursive=True, WithDecryption=True)[
        "Parameters"
    ]
    assert {one["Name"] for one in stored} == {"/handoff/telegram/bot_token", "/handoff/telegram/webhook_secret"}
    said = capsys.readouterr()
    assert "the webhook could not be set (NotSent)" in said.out
    assert "123:token" not in said.out + said.err


def test_a_platform_for_one_machine_is_refused_with_that_sentence(operator: Operator, capsys: Said) -> None:
    for name in ("signal/account", "signal/relay_secret"):
        assert operator.deploy(f"--secret={name}") == 2
        assert "Signal works on one machine only" in capsys.readouterr().err
    assert operator.deploy("--secret=unknown") == 2
    assert "signal/" not in capsys.readouterr().err


def test_settings_come_from_a_file_and_options_win(operator: Operator, aws: EmulatedAws, tmp_path: Any) -> None:
    file = tmp_path / "handoff.toml"
    file.write_text('stack = "team"\nuser = "bert"\n[parameters]\nStrikes = 5\nLogLevel = "DEBUG"\n')
    assert operator.deploy("--settings", str(file), "--set", "LogLevel=ERROR") == 0
    stack = stack_of(aws, "team")
    assert (stack.parameters["Strikes"], stack.parameters["LogLevel"]) == ("5", "ERROR")
    assert operator.result["user"] == "bert"
    file.write_text('stack = "team"\ntoken = "x"\n')
    assert operator.deploy("--settings", str(file)) == 2
