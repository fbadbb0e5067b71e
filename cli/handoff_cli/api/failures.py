"""Turn every failed call into one sentence: what happened and what to do."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from handoff_cli.config.sources import Configuration
from handoff_cli.errors import CliError, Refused, Unreachable

# The service's texts are for programs; these replace them in the terminal.
_TEXTS = {
    "unknown_handoff": "There is no such handoff. List yours with: handoff status",
    "unknown_runner": "There is no such runner. List yours with: handoff runners",
    "unknown_session": "There is no such session. List yours with: handoff sessions",
}
_CHECK_URL = "Check the URL (`handoff config show` shows where it comes from)."


@contextmanager
def translate_errors(configuration: Configuration) -> Iterator[None]:
    """Translate the errors of httpx to Unreachable."""
    url = configuration.url
    try:
        yield
    except httpx.ProxyError as error:
        raise Unreachable(f"The proxy refused the connection to {url} ({error}). {_PROXY_HINT}") from error
    except httpx.TimeoutException as error:
        raise Unreachable(f"{url} did not answer in time. Try again in a moment.") from error
    except httpx.ConnectError as error:
        raise Unreachable(_connect_problem(configuration, error)) from error
    except httpx.UnsupportedProtocol as error:
        raise Unreachable(f"{url} cannot be used: {error}. {_CHECK_URL}") from error
    except httpx.HTTPError as error:
        raise Unreachable(
            f"The connection to {url} broke ({error or type(error).__name__}). It is safe to try again."
        ) from error
    except (httpx.InvalidURL, UnicodeError) as error:
        if configuration.proxy:
            raise Unreachable(f"The proxy settings cannot be used ({error}). {_PROXY_HINT}") from error
        raise Unreachable(f"{url} cannot be used: {error}. {_CHECK_URL}") from error
    except (ValueError, ImportError) as error:
        # httpx raises these for proxy settings in the environment that it cannot use.
        raise Unreachable(f"The proxy settings cannot be used ({error}). {_PROXY_HINT}") from error


_PROXY_HINT = "Check HTTPS_PROXY, HTTP_PROXY and ALL_PROXY, or add the host to NO_PROXY."


def parse_answer(
    answer: httpx.Response, configuration: Configuration, *, needs: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The answer's JSON. Raises Refused with the service's reason, or Unreachable if it is not from a service."""
    if answer.status_code == 204:
        return {}
    value = _json(answer)
    if answer.is_success and isinstance(value, dict):
        if missing := [name for name in needs if name not in value]:
            raise Unreachable(
                f"{configuration.url} answered, but {missing[0]!r} is missing in the answer. {_CHECK_URL}"
            )
        return value
    if isinstance(value, dict) and "code" in value:
        raise _refused(value, answer, configuration)
    raise _foreign(answer, configuration)


def _json(answer: httpx.Response) -> Any:
    try:
        return answer.json()
    except ValueError:
        return None


def _refused(problem: dict[str, Any], answer: httpx.Response, configuration: Configuration) -> CliError:
    if answer.status_code == 401:
        return Refused({**problem, "detail": _token_problem(configuration)}, status=401)
    if answer.status_code == 429 and not problem.get("detail"):
        return Refused({**problem, "detail": _throttled(answer)}, status=429)
    if answer.status_code >= 500:
        said = str(problem.get("detail") or problem.get("title") or "no reason given").rstrip(".")
        return Unreachable(f"The service reports an error (HTTP {answer.status_code}): {said}. Try again in a moment.")
    text = _TEXTS.get(str(problem.get("code")))
    return Refused({**problem, "detail": text} if text else problem, status=answer.status_code)


def _foreign(answer: httpx.Response, configuration: Configuration) -> CliError:
    url, status = configuration.url, answer.status_code
    if status == 401:
        return Refused({"code": "unauthenticated", "detail": _token_problem(configuration)}, status=401)
    if status == 407:
        return Unreachable(f"The proxy needs a user name and a password for {url}. {_PROXY_HINT}")
    if status == 429:
        return Refused({"code": "throttled", "detail": _throttled(answer)}, status=429)
    if status >= 500:
        return Unreachable(f"{url} reports an error (HTTP {status}). Try again in a moment; that is safe.")
    if answer.is_redirect:
        return Unreachable(f"{url} redirects to {answer.headers.get('location')}. Use that URL, or check yours.")
    return Unreachable(f"{url} answered (HTTP {status}), but is not a Handoff service. {_CHECK_URL}")


def _token_problem(configuration: Configuration) -> str:
    if configuration.token is None:
        return f"{configuration.url} needs a token. Set HANDOFF_TOKEN or run `handoff config set token`."
    return f"{configuration.url} rejected the token from {configuration.token_from}. Set a valid one."


def _throttled(answer: httpx.Response) -> str:
    after = answer.headers.get("retry-after")
    return f"Too many requests. Try again {f'in {after} s' if after else 'in a moment'}."


def _connect_problem(configuration: Configuration, error: httpx.ConnectError) -> str:
    url = configuration.url
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return (
                f"The certificate of {url} is not trusted ({cause.verify_message}). "
                "Check the URL; for a private certificate authority set SSL_CERT_FILE."
            )
        if isinstance(cause, ssl.SSLError):
            return f"{url} does not answer with TLS. Is it http:// instead of https://?"
        cause = cause.__cause__ or cause.__context__
    if configuration.proxy:
        return f"The proxy {configuration.proxy} for {url} cannot be reached. {_PROXY_HINT}"
    if "Name or service not known" in str(error) or "getaddrinfo" in str(error) or "resolution" in str(error):
        return f"The host name in {url} cannot be resolved. {_CHECK_URL}"
    return f"Cannot reach the service at {url}. Is it running? Start it with `handoff up`, or check the URL."
