"""Errors that end a deploy early, each with a text for the operator: what happened, what still holds, what to do next."""

from collections.abc import Iterator
from contextlib import contextmanager

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
    NoCredentialsError,
    NoRegionError,
    PartialCredentialsError,
    ProfileNotFound,
    ReadTimeoutError,
    SSOTokenLoadError,
    UnauthorizedSSOTokenError,
)

EXPIRED = frozenset(
    {"ExpiredToken", "ExpiredTokenException", "RequestExpired", "InvalidClientTokenId", "UnrecognizedClientException"}
)
DENIED = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "AuthorizationError"})
THROTTLED = frozenset({"Throttling", "ThrottlingException", "RequestLimitExceeded", "TooManyRequestsException"})
NETWORK = (EndpointConnectionError, ConnectTimeoutError, ReadTimeoutError, ConnectionClosedError, HTTPClientError)
NO_REGION = "No region is set: add --region, for example --region us-east-1, or set AWS_REGION."
CREDENTIALS = (NoCredentialsError, PartialCredentialsError, SSOTokenLoadError, UnauthorizedSSOTokenError)


class Stopped(Exception):
    """The command ends here; the message is for the operator."""

    exit_code = 1


class WrongUsage(Stopped):
    """Options or settings that cannot be used. Nothing was done."""

    exit_code = 2


@contextmanager
def explained(holds: str) -> Iterator[None]:
    """Turn errors of AWS and of the network into Stopped. `holds` says what is true whatever happened."""
    try:
        yield
    except ProfileNotFound as error:
        raise Stopped(f"{error}. Name another one with --profile or AWS_PROFILE. {holds}") from error
    except NoRegionError as error:
        raise Stopped(f"{NO_REGION} {holds}") from error
    except CREDENTIALS as error:
        raise Stopped(
            f"There are no usable AWS credentials ({error}). Sign in as you do for the AWS CLI (a profile, SSO, or "
            f"AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY), then repeat the command. {holds}"
        ) from error
    except NETWORK as error:
        raise Stopped(
            f"AWS cannot be reached ({error}). {holds} Check the region and the network, then repeat the command."
        ) from error
    except ClientError as error:
        raise Stopped(f"{_explanation(error)} {holds}") from error
    except BotoCoreError as error:
        raise Stopped(f"{str(error).rstrip('.')}. {holds} Check --profile and --region.") from error


def code_of(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def _explanation(error: ClientError) -> str:
    code, message = code_of(error), str(error.response.get("Error", {}).get("Message", ""))
    if code in EXPIRED:
        return f"The AWS credentials are expired or not valid ({code}). Sign in again, then repeat the command."
    if code in DENIED:
        return (
            f"AWS denies {error.operation_name} ({message}). `handoff deploy --policy` prints the rights that are needed; "
            "then repeat the command."
        )
    return f"AWS refused {error.operation_name}: {code}: {message.rstrip('.')}. Mend that, then repeat the command."
