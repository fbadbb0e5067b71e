"""Verifies Signature Version 4 of requests with botocore's signer."""

import hmac
import re
from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from botocore.auth import S3SigV4QueryAuth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<scope>(?P<key>\w+)/\d{8}/(?P<region>[\w-]+)/(?P<service>[\w-]+)/aws4_request), ?"
    r"SignedHeaders=(?P<headers>(?:[\w-]+;)*host(?:;[\w-]+)*), ?Signature=(?P<signature>[0-9a-f]{64})"
)


class SignatureError(Exception):
    """The request is not signed, or not with credentials of this account. Has AWS's error code."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


_PRESIGNED = re.compile(
    r"(?P<key>\w+)/(?P<date>\d{8})/(?P<region>[\w-]+)/(?P<service>s3)/aws4_request",
)


def service_of(environ: Mapping[str, Any]) -> str:
    """The signing name of a verified request."""
    return str(environ["HTTP_AUTHORIZATION"]).split("/")[3] if "HTTP_AUTHORIZATION" in environ else "s3"


def _verify_presigned(environ: Mapping[str, Any], body: bytes, known: Mapping[str, Credentials]) -> None:
    """A presigned URL of S3: the signature binds method, path, query and the named headers, for some time."""
    query = dict(parse_qsl(environ["QUERY_STRING"], keep_blank_values=True))
    found = _PRESIGNED.fullmatch(query.get("X-Amz-Credential", ""))
    credentials = known.get(found["key"]) if found else None
    if found is None or credentials is None or query.get("X-Amz-Security-Token") != credentials.token:
        raise SignatureError("AccessDenied", "The URL is not signed with credentials of this account.")
    signature, names = query.pop("X-Amz-Signature", ""), query.get("X-Amz-SignedHeaders", "")
    request = _signed_part(environ, b"", names)
    request.url = (
        f"http://{environ['HTTP_HOST']}{environ['RAW_URI'].partition('?')[0]}?{urlencode(query, quote_via=quote)}"
    )
    request.context["timestamp"] = query.get("X-Amz-Date", "")
    signer = S3SigV4QueryAuth(credentials, found["service"], found["region"])
    expected = signer.signature(signer.string_to_sign(request, signer.canonical_request(request)), request)
    if not hmac.compare_digest(expected, signature):
        raise SignatureError("SignatureDoesNotMatch", "The signature of the URL does not match the request.")
    began = datetime.strptime(query["X-Amz-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    if began + timedelta(seconds=int(query["X-Amz-Expires"])) <= datetime.now(UTC):
        raise SignatureError("AccessDenied", "Request has expired")
    checksum = environ.get("HTTP_X_AMZ_CHECKSUM_SHA256")
    if checksum and checksum != b64encode(sha256(body).digest()).decode():
        raise SignatureError("BadDigest", "The SHA256 you specified did not match the calculated checksum.")


def verify(environ: Mapping[str, Any], body: bytes, known: Mapping[str, Credentials]) -> None:
    """Raise SignatureError unless the WSGI request is signed with one of the known credentials, by access key."""
    if "X-Amz-Signature=" in environ.get("QUERY_STRING", ""):
        _verify_presigned(environ, body, known)
        return
    found = _AUTHORIZATION.fullmatch(environ.get("HTTP_AUTHORIZATION", ""))
    if found is None:
        raise SignatureError("MissingAuthenticationToken", "The request is not signed with Signature Version 4.")
    credentials = known.get(found["key"])
    if credentials is None or environ.get("HTTP_X_AMZ_SECURITY_TOKEN") != credentials.token:
        raise SignatureError("UnrecognizedClientException", "The security token included in the request is invalid.")
    request = _signed_part(environ, body, found["headers"])
    signer = SigV4Auth(credentials, found["service"], found["region"])
    signature = signer.signature(signer.string_to_sign(request, signer.canonical_request(request)), request)
    is_signed = signer.scope(request) == found["scope"] and hmac.compare_digest(signature, found["signature"])
    # The signer takes the hash of the body from this header, if there is one.
    content = sha256(body).hexdigest()
    if not is_signed or environ.get("HTTP_X_AMZ_CONTENT_SHA256", content) != content:
        raise SignatureError(
            "InvalidSignatureException",
            "The request signature we calculated does not match the signature you provided.",
        )


def _signed_part(environ: Mapping[str, Any], body: bytes, names: str) -> AWSRequest:
    """Return the request with the headers that the client signed; WSGI has those of the body without a prefix."""
    keys = {name: name.upper().replace("-", "_") for name in names.split(";")}
    request = AWSRequest(
        environ["REQUEST_METHOD"],
        f"http://{environ['HTTP_HOST']}{environ['RAW_URI']}",
        headers={name: environ.get(f"HTTP_{key}", environ.get(key, "")) for name, key in keys.items()},
        data=body,
    )
    request.context["timestamp"] = environ.get("HTTP_X_AMZ_DATE", "")
    return request
