"""The problems of docs/http.md, as tests check them."""

import httpx

CODES = {
    400: {"malformed_json", "file_mismatch"},
    401: {"unauthenticated"},
    403: {"missing_scope", "runner_revoked", "upload_refused"},
    404: {
        "unknown_session",
        "unknown_handoff",
        "unknown_token",
        "unknown_user",
        "unknown_runner",
        "unknown_order",
        "unknown_file",
        "not_found",
    },
    409: {
        *("moved", "out_of_sequence", "handoff_in_flight", "session_busy", "session_suspended"),
        *("place_busy", "write_first", "not_shareable", "too_late", "conflict", "user_exists"),
        *("taken", "ended", "other_result"),
    },
    413: {"body_too_large", "file_too_large"},
    415: {"encoded_body"},
    422: {
        *("invalid_request", "unknown_platform", "platform_not_supported", "platform_not_configured"),
        *("no_home", "chat_refused", "idempotency_key_reused"),
    },
    503: {"platform_unavailable", "storage_unavailable"},
}
GATEWAY = {403: "Forbidden", 404: "Not Found"}
"""What the API answers itself: to a foreign Host header, and to an unknown route."""


def problem_code(answer: httpx.Response) -> str:
    """The code of an error response, which must be a documented problem or an answer of the API itself."""
    if answer.json() == {"message": GATEWAY.get(answer.status_code)}:
        return GATEWAY[answer.status_code]
    assert answer.headers["content-type"] == "application/problem+json", (answer.status_code, answer.text[:300])
    problem = answer.json()
    assert problem["status"] == answer.status_code
    assert problem["code"] in CODES[answer.status_code], problem
    assert problem["detail"]
    return str(problem["code"])
