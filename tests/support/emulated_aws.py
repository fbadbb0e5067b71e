"""An AWS account on loopback for `handoff deploy`: moto's services, and a CloudFormation that plays failures."""

import json
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from local.cloud.cloud import Cloud
from local.cloud.deploy import deploy_translated
from local.cloud.stack import REGION
from local.functions import InProcessFunctions, Interceptors
from local.operate.deploy.template import BUCKET, QUEUE, TABLE
from shared.platforms import PLATFORMS
from tests.support.fake_cloudformation import Backend, FakeCloudFormation


class EmulatedAws:
    """Use it as a context manager. With `runs` the functions of the stack run and its API answers."""

    def __init__(self, *, runs: bool = False) -> None:
        self._runs = runs
        self._stops = ExitStack()
        self.cloud = Cloud()
        self._stops.callback(self.cloud.stop)
        self._stacks: dict[str, tuple[dict[str, str], dict[str, str]]] = {}
        backend = Backend(self._read_template, self._apply)
        self.formation = FakeCloudFormation(backend, account=self.cloud.engine.account_id)

    def __enter__(self) -> Self:
        self._stops.enter_context(self.formation)
        return self

    def __exit__(self, *_: object) -> None:
        self._stops.close()

    def client(self, service: str) -> Any:
        return self.cloud.engine.client(service)

    def environment(self, home: Path) -> dict[str, str]:
        """Variables of a terminal that is signed in to this account, with an empty home directory."""
        admin = self.cloud.engine.admin
        return {
            "HOME": str(home),
            "AWS_ACCESS_KEY_ID": admin.access_key,
            "AWS_SECRET_ACCESS_KEY": admin.secret_key,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_ENDPOINT_URL": self.cloud.engine.url,
            "AWS_ENDPOINT_URL_CLOUDFORMATION": self.formation.url,
        }

    def _read_template(self, url: str) -> str:
        bucket, key = url.removeprefix("https://").split("/", 1)
        found = self.client("s3").get_object(Bucket=bucket.partition(".")[0], Key=key)["Body"].read()
        return str(found.decode())

    def _apply(
        self, name: str, stack_id: str, template: dict[str, Any], parameters: Mapping[str, str]
    ) -> tuple[dict[str, str], dict[str, str]]:
        """A change of a stack that exists changes no resource of moto's: only its description is new."""
        if name not in self._stacks:
            made = template if self._runs else _data_only(template)
            stack = deploy_translated(self.cloud.engine, made, parameters, name=name)
            outputs = dict(stack.outputs)
            outputs["ApiUrl"] = f"https://{name}.example.org"
            if self._runs:
                self.cloud.stack = stack
                functions = InProcessFunctions(self.cloud.engine, stack, Interceptors(), PLATFORMS)
                self.cloud.run_threads(functions.build)
                self.cloud.start_sources()
                outputs["ApiUrl"] = self.cloud.serve().url
            self._keep_private(outputs["FilesBucketName"], template, parameters)
            self._stacks[name] = dict(stack.resources), outputs
        physical, outputs = self._stacks[name]
        for logical, one in template["Resources"].items():
            if one["Type"] in (TABLE, QUEUE, BUCKET):
                tags = json.dumps({tag["Key"]: tag["Value"] for tag in one["Properties"].get("Tags", ())})
                given = tags.replace('{"Ref": "AWS::StackId"}', json.dumps(stack_id))
                self.tag(one["Type"], physical[logical], json.loads(given))
        outputs["SecretsPrefix"] = parameters["SecretsPrefix"]
        outputs["Release"] = template["Outputs"]["Release"]["Value"]
        return physical, dict(outputs)

    def _keep_private(self, bucket: str, template: Mapping[str, Any], parameters: Mapping[str, str]) -> None:
        """Set what moto leaves out when it makes the bucket."""
        s3, resources = self.client("s3"), template["Resources"]
        access = resources["FilesBucket"]["Properties"]["PublicAccessBlockConfiguration"]
        s3.put_public_access_block(Bucket=bucket, PublicAccessBlockConfiguration=access)
        days = template["Mappings"]["BucketDays"][parameters["FileDays"]]["Files"]
        rule = {"ID": "over", "Status": "Enabled", "Prefix": "", "Expiration": {"Days": days}}
        s3.put_bucket_lifecycle_configuration(Bucket=bucket, LifecycleConfiguration={"Rules": [rule]})
        policy = json.dumps(resources["FilesBucketPolicy"]["Properties"]["PolicyDocument"])
        arn = f"arn:aws:s3:::{bucket}"
        for named, value in (
            ('{"Fn::GetAtt": ["FilesBucket", "Arn"]}', arn),
            ('{"Fn::Sub": "${FilesBucket.Arn}/*"}', f"{arn}/*"),
        ):
            policy = policy.replace(named, json.dumps(value))
        s3.put_bucket_policy(Bucket=bucket, Policy=policy)

    def tag(self, kind: str, physical: str, tags: Mapping[str, str]) -> None:
        """Set the tags of a table, a queue or a bucket."""
        if kind == TABLE:
            dynamodb = self.client("dynamodb")
            arn = dynamodb.describe_table(TableName=physical)["Table"]["TableArn"]
            dynamodb.tag_resource(ResourceArn=arn, Tags=[{"Key": key, "Value": value} for key, value in tags.items()])
        elif kind == BUCKET:
            pairs = [{"Key": key, "Value": value} for key, value in tags.items()]
            self.client("s3").put_bucket_tagging(Bucket=physical, Tagging={"TagSet": pairs})
        else:
            self.client("sqs").tag_queue(QueueUrl=physical, Tags=dict(tags))


def _data_only(template: dict[str, Any]) -> dict[str, Any]:
    """The tables, queues and the bucket, which take moto a fraction of the time of the whole."""
    kept = {name: one for name, one in template["Resources"].items() if one["Type"] in (TABLE, QUEUE, BUCKET)}
    outputs = {name: one for name, one in template["Outputs"].items() if _refers(one, kept)}
    return {**template, "Resources": kept, "Outputs": outputs, "Conditions": {}}


def _refers(output: Mapping[str, Any], names: Mapping[str, Any]) -> bool:
    value = output["Value"]
    return isinstance(value, dict) and value.get("Ref") in names
