"""Signature version 4 of a request, as AWS checks it.

botocore can compute it too, but builds a request of its own for that and derives the key anew each time: four fifths of
what checking a call costs.
"""

import hmac
from functools import lru_cache
from hashlib import sha256
from typing import Any
from urllib.parse import quote, urlencode

from botocore.credentials import Credentials


def is_signed_by(credentials: Credentials, response: Any) -> bool:
    """Whether the request of this moto response was signed with these credentials, just as it came."""
    parts = dict(part.strip().split("=", 1) for part in response.headers["Authorization"].partition(" ")[2].split(","))
    _, date, region, service, _ = parts["Credential"].split("/")
    canonical = sha256(_canonical(response, parts["SignedHeaders"]).encode()).hexdigest()
    to_sign = f"AWS4-HMAC-SHA256\n{response.headers['X-Amz-Date']}\n{date}/{region}/{service}/aws4_request\n{canonical}"
    signature = _sign(_key(credentials.secret_key, date, region, service), to_sign).hex()
    return hmac.compare_digest(signature, parts["Signature"])


def _canonical(response: Any, signed: str) -> str:
    values = ((name, response.headers.get(name, "")) for name in signed.split(";"))
    body = response.raw_body or urlencode(response.form_data).encode()  # a form was read as one, and is gone as bytes
    lines = [
        response.method,
        quote(response.raw_path, safe="/~"),
        "&".join(sorted(response.parsed_url.query.split("&"))),
        *(f"{name}:{' '.join(value.split())}" for name, value in values),
        "",
        signed,
        sha256(body).hexdigest(),
    ]
    return "\n".join(lines)


@lru_cache(maxsize=1024)
def _key(secret: str, date: str, region: str, service: str) -> bytes:
    """One per day and service, for each set of credentials."""
    key = f"AWS4{secret}".encode()
    for scope in (date, region, service, "aws4_request"):
        key = _sign(key, scope)
    return key


def _sign(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode(), sha256)
