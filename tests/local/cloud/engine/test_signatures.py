"""Signature version 4: what a role's SDK signs is accepted, and nothing that was changed on the way."""

import http.client
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from local.cloud.engine import Engine

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
WHO = "Action=GetCallerIdentity&Version=2011-06-15"


@pytest.fixture(scope="module")
def cloud() -> Iterator[Engine]:
    engine = Engine.start()
    iam = engine.client("iam")
    iam.create_role(RoleName="anybody", AssumeRolePolicyDocument="{}")
    everything = '{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}'
    iam.put_role_policy(RoleName="anybody", PolicyName="all", PolicyDocument=everything)
    yield engine
    engine.stop()


@pytest.fixture
def role(cloud: Engine) -> Credentials:
    return cloud.assume(f"arn:aws:iam::{cloud.account_id}:role/anybody")


def signed(cloud: Engine, role: Credentials, request: AWSRequest) -> AWSRequest:
    request.url = cloud.url + request.url
    SigV4Auth(role, "sts", "us-east-1").add_auth(request)
    return request


def status(request: AWSRequest) -> int:
    """The request just as it is: no SDK that would sign it again."""
    parts = urlsplit(request.url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=20)
    path = f"{parts.path}?{parts.query}" if parts.query else parts.path
    connection.request(request.method, path, request.data, dict(request.headers))
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


def get(query: str = "?" + WHO, **headers: str) -> AWSRequest:
    return AWSRequest("GET", f"/{query}", headers=headers)


def test_what_sdks_send_is_accepted(cloud: Engine, role: Credentials) -> None:
    assert cloud.client("dynamodb", role).list_tables()["TableNames"] == []  # JSON
    assert cloud.client("sts", role).get_caller_identity()["Account"] == cloud.account_id  # a form


@pytest.mark.parametrize(
    "request_",
    [
        get(),
        get("?Version=2011-06-15&Action=GetCallerIdentity"),
        get(f"?{WHO}&Word=%C3%BC%20%2F"),
        get(**{"X-Amz-Note": "  two   words "}),
        AWSRequest("POST", "/", data=WHO.encode(), headers=FORM),
    ],
    ids=["query", "unsorted query", "encoded query", "spaces in a header", "form"],
)
def test_every_way_to_write_a_request_is_accepted(cloud: Engine, role: Credentials, request_: AWSRequest) -> None:
    request = AWSRequest(request_.method, request_.url, headers=dict(request_.headers), data=request_.data)
    assert status(signed(cloud, role, request)) == 200


def test_changed_header_query_or_body_is_refused(cloud: Engine, role: Credentials) -> None:
    header = signed(cloud, role, get(**{"X-Amz-Note": "one"}))
    header.headers.replace_header("X-Amz-Note", "another")
    query = signed(cloud, role, get())
    query.url += "&Extra=1"
    body = signed(cloud, role, AWSRequest("POST", "/", data=WHO.encode(), headers=FORM))
    body.data = WHO.encode() + b"&Extra=1"
    header_gone = signed(cloud, role, get(**{"X-Amz-Note": "one"}))
    del header_gone.headers["X-Amz-Note"]
    assert {status(request) for request in (header, query, body, header_gone)} == {400}


def test_day_that_is_not_that_of_the_signature_is_refused(cloud: Engine, role: Credentials) -> None:
    request = signed(cloud, role, get())
    given = request.headers["Authorization"]
    day = request.headers["X-Amz-Date"][:8]
    request.headers.replace_header("Authorization", given.replace(f"/{day}/", "/20200101/"))
    assert status(request) == 400
