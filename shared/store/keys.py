"""The keys of both tables: the only module that knows what a key looks like."""

from shared.domain.routes import Place
from shared.ports.tables import Key

SEQUENCE_DIGITS = 10
OFFER = "RT#"
"""Begins the `sk` of an offer."""
QUESTION = "Q#"
"""Begins the `sk` of a question."""
POINTER = "TURN#"
"""Begins the `sk` of a pointer to a turn for a runner."""
ORDER = "ORDER#"
"""Begins the `sk` of an order to a runner."""
FILE = "FILE#"
"""Begins the `sk` of a file."""
RUNNER = "RUNNER#"
"""Begins the `sk` of a runner."""
LISTED = "LIST#"
"""Begins the `sk` of a list that a user was shown."""
LINK = "LINK#"
"""Begins the `pk` of a code, and the `sk` of what its maker sees of it."""
TOKEN = "TOKEN#"  # noqa: S105  # part of a key
"""Begins the `sk` of a token."""
LOGIN = "LOGIN"
"""The `sk` of an invited user's first login."""
NEWS = "NEWS"
"""The partition of what chats must be told."""
DIRECTORY = "USERS"
"""The partition that lists all users, and for each of their tokens the day of its last use."""


def handoff_key(handoff_id: str) -> Key:
    return {"handoff_id": handoff_id}


def session_partition(session_id: str) -> str:
    """The `pk` of everything that belongs to a session."""
    return f"SESSION#{session_id}"


def inbox_partition(place: Place) -> str:
    return f"INBOX#{place.route}"


def user_partition(user_id: str) -> str:
    return f"USER#{user_id}"


def meta_key(session_id: str) -> Key:
    return {"pk": session_partition(session_id), "sk": "META"}


def chunk_key(session_id: str, first: int) -> Key:
    return {"pk": session_partition(session_id), "sk": f"CHUNK#{first:0{SEQUENCE_DIGITS}}"}


def out_key(session_id: str, turn_id: str, number: int) -> Key:
    return {"pk": session_partition(session_id), "sk": f"OUT#{turn_id}#{number:04}"}


def offer_key(session_id: str, turn_id: str) -> Key:
    return {"pk": session_partition(session_id), "sk": f"{OFFER}{turn_id}"}


def question_prefix(turn_id: str, fence: int | None = None) -> str:
    """Begins the `sk` of the questions of a turn, or of those at one fence."""
    return f"{QUESTION}{turn_id}#" if fence is None else f"{QUESTION}{turn_id}#{fence:06}#"


def question_key(session_id: str, turn_id: str, fence: int, number: int) -> Key:
    return {"pk": session_partition(session_id), "sk": f"{question_prefix(turn_id, fence)}{number:06}"}


def file_key(session_id: str, file_id: str) -> Key:
    return {"pk": session_partition(session_id), "sk": f"{FILE}{file_id}"}


def runner_key(user_id: str, runner_id: str) -> Key:
    return {"pk": user_partition(user_id), "sk": f"{RUNNER}{runner_id}"}


def pointers_partition(user_id: str, runner_id: str) -> str:
    """The `pk` of what a runner polls. A user's id contains no slash."""
    return f"{RUNNER}{user_id}/{runner_id}"


def pointer_key(user_id: str, runner_id: str, turn_id: str) -> Key:
    return {"pk": pointers_partition(user_id, runner_id), "sk": f"{POINTER}{turn_id}"}


def order_key(user_id: str, runner_id: str, order_id: str) -> Key:
    return {"pk": pointers_partition(user_id, runner_id), "sk": f"{ORDER}{order_id}"}


def list_key(user_id: str, place: Place) -> Key:
    return {"pk": user_partition(user_id), "sk": f"{LISTED}{place.route}"}


def back_route_key(session_id: str, place: Place) -> Key:
    """Lists the routes that point to a session, so that deleting it finds them."""
    return {"pk": session_partition(session_id), "sk": f"ROUTE#{place.route}"}


def inbox_key(place: Place, event_id: str) -> Key:
    return {"pk": inbox_partition(place), "sk": event_id}


def route_key(place: Place) -> Key:
    return {"pk": f"ROUTE#{place.route}", "sk": "ROUTE"}


def home_key(user_id: str, platform: str) -> Key:
    return {"pk": user_partition(user_id), "sk": f"HOME#{platform}"}


def token_key(user_id: str, token_hash: str) -> Key:
    return {"pk": user_partition(user_id), "sk": f"{TOKEN}{token_hash}"}


def user_key(user_id: str) -> Key:
    return {"pk": DIRECTORY, "sk": user_id}


def use_key(user_id: str, token_id: str) -> Key:
    """A user's id contains no slash."""
    return {"pk": DIRECTORY, "sk": f"{user_id}/{token_id}"}


def identity_key(user_id: str, platform: str, person: str) -> Key:
    return {"pk": user_partition(user_id), "sk": f"IDENTITY#{platform}#{person}"}


def usage_key(user_id: str) -> Key:
    return {"pk": user_partition(user_id), "sk": "USAGE"}


def heard_key(platform: str, person: str) -> Key:
    return {"pk": f"PERSON#{platform}#{person}", "sk": "HEARD"}


def person_key(platform: str, person: str) -> Key:
    return {"pk": f"PERSON#{platform}#{person}", "sk": "PERSON"}


def code_key(platform: str, code_hash: str) -> Key:
    return {"pk": f"{LINK}{platform}#{code_hash}", "sk": "LINK"}


def pairing_key(platform: str) -> Key:
    """Until when any code for the platform may be open."""
    return {"pk": f"PAIRING#{platform}", "sk": "PAIRING"}


def link_key(user_id: str, slot: str) -> Key:
    return {"pk": user_partition(user_id), "sk": f"{LINK}{slot}"}


def news_key(link_id: str) -> Key:
    return {"pk": NEWS, "sk": f"{LINK}{link_id}"}


def tries_key(platform: str, person: str) -> Key:
    return {"pk": f"TRIES#{platform}#{person}", "sk": "TRIES"}


def unreadable_key(place: Place) -> Key:
    """When somebody at the place was last told that a message cannot be read."""
    return {"pk": f"UNREADABLE#{place.route}", "sk": "UNREADABLE"}


def login_key(user_id: str) -> Key:
    return {"pk": user_partition(user_id), "sk": LOGIN}
