"""The keys of both tables: the only module that knows what a key looks like."""

from shared.domain.routes import Place
from shared.ports.tables import Key

SEQUENCE_DIGITS = 10
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
    return {"pk": user_partition(user_id), "sk": f"TOKEN#{token_hash}"}


def user_key(user_id: str) -> Key:
    return {"pk": DIRECTORY, "sk": user_id}


def use_key(user_id: str, token_id: str) -> Key:
    """A user's id contains no slash."""
    return {"pk": DIRECTORY, "sk": f"{user_id}/{token_id}"}


def identity_key(user_id: str, platform: str, person: str) -> Key:
    return {"pk": user_partition(user_id), "sk": f"IDENTITY#{platform}#{person}"}


def usage_key(user_id: str) -> Key:
    return {"pk": user_partition(user_id), "sk": "USAGE"}


def person_key(platform: str, person: str) -> Key:
    return {"pk": f"PERSON#{platform}#{person}", "sk": "PERSON"}
