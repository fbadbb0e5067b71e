"""Signature Version 4: the endpoint accepts what SDKs sign, and nothing unsigned, forged or changed."""

import http.client
from typing import Any
from urllib.parse import urlsplit

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from local.cloud.engine import Engine

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
CALL = "Action=GetCallerIdentity&Version=2011-06-15"
GET_SECRETS = {"X-Amz-Target": "AmazonSSM.GetParametersByPath", "Content-Type": "application/x-amz-json-1.1"}


@pytest.fixture
def credentials(engine: Engine, role: Any) -> Credentials:
    role.allow(("*", "*"))
    return engine.assume(role.arn)


def signed(engine: Engine, credentials: Credentials, request: AWSRequest, service: str = "sts") -> AWSRequest:
    request.url = engine.url + request.url
    SigV4Auth(credentials, service, "us-east-1").add_auth(request)
    return request


def send(request: AWSRequest) -> tuple[int, bytes]:
    """Send the request without an SDK, which would sign it again."""
    parts = urlsplit(request.url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=20)
    path = f"{parts.path}?{parts.query}" if parts.query else parts.path
    connection.request(request.method, path, request.data, dict(request.headers))
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, body


def get(query: str = "?" + CALL, **headers: str) -> AWSRequest:
    return AWSRequest("GET", f"/{query}", headers=headers)


def test_requests_of_sdks_are_accepted(engine: Engine, credentials: Credentials) -> None:
    for used in (credentials, None):
        assert "TableNames" in engine.client("dynamodb", used).list_tables()  # JSON
        assert engine.client("sts", used).get_caller_identity()["Account"] == engine.account_id  # a form
        assert "Functions" in engine.client("lambda", used).list_functions()  # a path and a query


@pytest.mark.parametrize(
    "request_",
    [
        get(),
        get("?Version=2011-06-15&Action=GetCallerIdentity"),
        get(f"?{CALL}&Word=%C3%BC%20%2F"),
        get(**{"X-Amz-Note": "  two   words "}),
        AWSRequest("POST", "/", data=CALL.encode(), headers=FORM),
    ],
    ids=["query", "unsorted query", "encoded query", "spaces in a header", "form"],
)
def test_every_form_of_request_is_accepted(engine: Engine, credentials: Credentials, request_: AWSRequest) -> None:
    request = AWSRequest(request_.method, request_.url, headers=dict(request_.headers), data=request_.data)
    assert send(signed(engine, credentials, request))[0] == 200


@pytest.mark.parametrize(
    "authorization",
    [
        "",
        "Bearer token",
        "AWS4-HMAC-SHA256 Credential=AKIALOCALADMIN000000/20260101/us-east-1/ssm/aws4_request",
        "AWS4-HMAC-SHA256 Credential={key}/20260101/us-east-1/ssm/aws4_request, SignedHeaders=x-amz-date, Signature="
        + "0" * 64,
    ],
    ids=["none", "bearer", "no signature", "host not signed"],
)
def test_an_unsigned_call_gets_no_secrets(engine: Engine, authorization: str) -> None:
    engine.client("ssm").put_parameter(Name="/unsigned/key", Type="SecureString", Value="s3cret", Overwrite=True)
    headers = GET_SECRETS | {"Authorization": authorization.format(key=engine.admin.access_key)}
    body = b'{"Path": "/unsigned", "WithDecryption": true}'
    status, answer = send(AWSRequest("POST", f"{engine.url}/", headers=headers, data=body))
    assert status == 403
    assert b"MissingAuthenticationToken" in answer
    assert b"s3cret" not in answer


@pytest.mark.parametrize("path", ["/moto-api/reset", "/moto-api/data.json"])
def test_motos_own_api_is_closed(engine: Engine, path: str) -> None:
    assert send(AWSRequest("POST", engine.url + path))[0] == 403


def test_a_wrong_key_is_refused(engine: Engine, credentials: Credentials) -> None:
    for good in (credentials, engine.admin):
        wrong = Credentials(good.access_key, "not the secret", good.token)
        with pytest.raises(ClientError, match="InvalidSignatureException"):
            engine.client("dynamodb", wrong).list_tables()
        with pytest.raises(ClientError, match="InvalidSignatureException"):
            engine.client("iam", wrong).list_roles()  # a service that answers in XML


def test_an_unknown_key_or_token_is_refused(engine: Engine, credentials: Credentials) -> None:
    other_token = Credentials(credentials.access_key, credentials.secret_key, "another token")
    no_token = Credentials(credentials.access_key, credentials.secret_key)
    unknown = Credentials("AKIAUNKNOWN000000000", "secret")
    for wrong in (other_token, no_token, unknown):
        with pytest.raises(ClientError, match="UnrecognizedClientException"):
            engine.client("dynamodb", wrong).list_tables()


def test_each_engine_has_its_own_admin_key(engine: Engine) -> None:
    other = Engine.start()
    try:
        with pytest.raises(ClientError, match="UnrecognizedClientException"):
            other.client("dynamodb", engine.admin).list_tables()
    finally:
        other.stop()


def test_a_changed_header_query_or_body_is_refused(engine: Engine, credentials: Credentials) -> None:
    header = signed(engine, credentials, get(**{"X-Amz-Note": "one"}))
    header.headers.replace_header("X-Amz-Note", "another")
    query = signed(engine, credentials, get())
    query.url += "&Extra=1"
    body = signed(engine, credentials, AWSRequest("POST", "/", data=CALL.encode(), headers=FORM))
    body.data = CALL.encode() + b"&Extra=1"
    removed = signed(engine, credentials, get(**{"X-Amz-Note": "one"}))
    del removed.headers["X-Amz-Note"]
    assert {send(request)[0] for request in (header, query, body, removed)} == {403}


def test_a_signed_hash_does_not_stand_for_the_body(engine: Engine, credentials: Credentials) -> None:
    request = AWSRequest("POST", "/", data=CALL.encode(), headers={**FORM, "X-Amz-Content-SHA256": "UNSIGNED-PAYLOAD"})
    assert send(signed(engine, credentials, request))[0] == 403


def test_another_day_than_that_of_the_signature_is_refused(engine: Engine, credentials: Credentials) -> None:
    request = signed(engine, credentials, get())
    given = request.headers["Authorization"]
    day = request.headers["X-Amz-Date"][:8]
    request.headers.replace_header("Authorization", given.replace(f"/{day}/", "/20200101/"))
    assert send(request)[0] == 403
