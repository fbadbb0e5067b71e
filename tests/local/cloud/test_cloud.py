"""A template in the local cloud: a request becomes a record, a message, a delayed message, and a finished item."""

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from local.cloud.cloud import Cloud
from local.cloud.in_process import Handler
from local.cloud.runtime.invoker import RuntimeInvoker
from local.cloud.sources.http_api import HttpApi
from tests.support.waiting import eventually

TEMPLATE = """
Transform: AWS::Serverless-2016-10-31
Globals:
  Function:
    Runtime: python3.13
    Timeout: 20
    Environment: {Variables: {TABLE: !Ref Things, QUEUE: !Ref Jobs, RUNS: !Ref Runs}}
Parameters:
  Greeting: {Type: String}
Resources:
  Things:
    Type: AWS::DynamoDB::Table
    Properties:
      BillingMode: PAY_PER_REQUEST
      KeySchema: [{AttributeName: id, KeyType: HASH}]
      AttributeDefinitions: [{AttributeName: id, AttributeType: S}]
      StreamSpecification: {StreamViewType: NEW_AND_OLD_IMAGES}
  Jobs:
    Type: AWS::SQS::Queue
    Properties: {FifoQueue: true}
  Runs:
    Type: AWS::SQS::Queue
  Role:
    Type: AWS::IAM::Role
    Properties:
      AssumeRolePolicyDocument: {Version: '2012-10-17', Statement: []}
      Policies:
        - PolicyName: all
          PolicyDocument:
            Version: '2012-10-17'
            Statement: [{Effect: Allow, Action: ['dynamodb:*', 'sqs:*'], Resource: '*'}]
  Request:
    Type: AWS::Serverless::Function
    Properties:
      Handler: app.request
      Role: !GetAtt Role.Arn
      Environment: {Variables: {GREETING: !Ref Greeting}}
      Events:
        Things: {Type: HttpApi, Properties: {Method: ANY, Path: '/things/{name+}'}}
  Process:
    Type: AWS::Serverless::Function
    Properties:
      Handler: app.process
      Role: !GetAtt Role.Arn
      Events:
        Stream:
          Type: DynamoDB
          Properties:
            Stream: !GetAtt Things.StreamArn
            StartingPosition: LATEST
            FilterCriteria: {Filters: [{Pattern: '{"dynamodb":{"NewImage":{"state":{"S":["pending"]}}}}'}]}
  Turn:
    Type: AWS::Serverless::Function
    Properties:
      Handler: app.turn
      Role: !GetAtt Role.Arn
      Events:
        Queue: {Type: SQS, Properties: {Queue: !GetAtt Jobs.Arn, BatchSize: 1}}
  Run:
    Type: AWS::Serverless::Function
    Properties:
      Handler: app.run
      Role: !GetAtt Role.Arn
      Events:
        Queue:
          Type: SQS
          Properties: {Queue: !GetAtt Runs.Arn, BatchSize: 1, ScalingConfig: {MaximumConcurrency: 2}}
Outputs:
  TableName: {Value: !Ref Things}
"""

APP = """
import json, os
import boto3
tables, queues = boto3.client("dynamodb"), boto3.client("sqs")

def put(name, state):
    tables.put_item(TableName=os.environ["TABLE"], Item={"id": {"S": name}, "state": {"S": state}})

def request(event, context):
    name = event["pathParameters"]["name"]
    if event["requestContext"]["http"]["method"] == "PUT":
        put(name, "pending")
    item = tables.get_item(TableName=os.environ["TABLE"], Key={"id": {"S": name}}).get("Item", {})
    return {"greeting": os.environ["GREETING"], "state": item.get("state", {}).get("S")}

def process(event, context):
    for record in event["Records"]:
        name = record["dynamodb"]["Keys"]["id"]["S"]
        queues.send_message(QueueUrl=os.environ["QUEUE"], MessageBody=name, MessageGroupId=name, MessageDeduplicationId=name)

def turn(event, context):
    queues.send_message(QueueUrl=os.environ["RUNS"], MessageBody=event["Records"][0]["body"], DelaySeconds=1)

def run(event, context):
    put(event["Records"][0]["body"], "done")
"""


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[Cloud]:
    (tmp_path / "template.yaml").write_text(TEMPLATE)
    cloud = Cloud()
    cloud.deploy(tmp_path / "template.yaml", {"Greeting": "hello"}, name="things")
    yield cloud
    cloud.stop()


@pytest.fixture
def api(cloud: Cloud, tmp_path: Path) -> HttpApi:
    (tmp_path / "app.py").write_text(APP)
    cloud.run_processes(tmp_path, warm={"Request": 1})
    cloud.start_sources()
    return cloud.serve()


def call(api: HttpApi, name: str, method: str = "GET") -> Any:
    request = urllib.request.Request(f"{api.url}/things/{name}", method=method)  # noqa: S310 - loopback
    with urllib.request.urlopen(request, timeout=20) as response:  # noqa: S310 - loopback
        return json.loads(response.read())


def is_done(api: HttpApi, name: str) -> bool:
    return bool(call(api, name)["state"] == "done")


def test_the_stack_has_parameters_and_outputs(cloud: Cloud) -> None:
    assert cloud.stack.outputs == {"TableName": cloud.stack.resources["Things"]}
    assert cloud.stack.functions["Request"].environment["GREETING"] == "hello"
    assert cloud.engine.client("dynamodb").list_tables()["TableNames"] == [cloud.stack.outputs["TableName"]]


def test_a_request_passes_through_stream_and_queues(api: HttpApi) -> None:
    names = [f"thing/{number}" for number in range(5)]
    assert [call(api, name, "PUT")["greeting"] for name in names] == ["hello"] * 5
    for name in names:
        eventually(lambda name=name: is_done(api, name))  # type: ignore[misc]


def test_killed_functions_lose_nothing(api: HttpApi, cloud: Cloud) -> None:
    assert isinstance(cloud.invoker, RuntimeInvoker)
    call(api, "first", "PUT")
    cloud.invoker.kill("Process")
    call(api, "second", "PUT")
    eventually(lambda: is_done(api, "first") and is_done(api, "second"))


def test_functions_run_as_threads_with_their_roles(cloud: Cloud) -> None:
    def build(function: str) -> Handler:
        tables = cloud.engine.client("dynamodb", cloud.engine.assume(cloud.stack.functions[function].role_arn))
        return lambda *_: tables.scan(TableName=cloud.stack.outputs["TableName"])["Count"]

    cloud.run_threads(build)
    assert cloud.invoker.invoke("Request", {}).payload == 0
    role = cloud.stack.functions["Request"].role_arn
    assert {(grant.role, grant.action) for grant in cloud.engine.access.used} == {(role, "dynamodb:Scan")}


def test_a_stopped_cloud_leaves_no_process(api: HttpApi, cloud: Cloud) -> None:
    assert isinstance(cloud.invoker, RuntimeInvoker)
    call(api, "first", "PUT")
    assert cloud.invoker.pids()
    cloud.stop()
    cloud.stop()
    assert cloud.invoker.pids() == ()
    with pytest.raises(OSError, match="refused"):
        call(api, "first")
