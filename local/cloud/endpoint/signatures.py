"""Verifies Signature Version 4 of requests with botocore's signer."""

import hmac
import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from botocore.auth import SigV4Auth
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


def verify(environ: Mapping[str, Any], body: bytes, known: Mapping[str, Credentials]) -> None:
    """Raise SignatureError unless the WSGI request is signed with one of the known credentials, by access key."""
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
