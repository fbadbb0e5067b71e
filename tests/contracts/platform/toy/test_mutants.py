"""Mutants of the toy, each with a fault that an adapter of a new platform may have: the contract finds all of them."""

import inspect
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from shared.domain.files import ChatFile, OutFile
from shared.domain.routes import Place
from shared.errors import PlatformError
from shared.ports.inbound import Inbound
from shared.ports.platforms import Part
from tests.contracts.platform.contract import platform_contract
from tests.contracts.platform.harness import platform_harness
from tests.contracts.platform.toy import CHAT
from tests.contracts.platform.toy.adapter import Toy
from tests.contracts.platform.toy.diagnosis import ToyDiagnosis


class NamesNobody(Toy):
    """People are not mentioned in a new thread."""

    def open_thread(self, home: Place, title: str, *, key: str, people: Sequence[str]) -> Place:  # noqa: ARG002  # the fault
        return super().open_thread(home, title, key=key, people=[])


class TrustsEveryKey(Toy):
    """A key that another author has copied is accepted."""

    def _ours(self, path: str, key: str) -> str | None:
        return next((str(one["id"]) for one in self._api.get(path, [{"id": str}], key=key)), None)


class _NoMembership(ToyDiagnosis):
    def check_home(self, home: Place) -> None:
        self.api = _AlwaysMember(self.api)  # type: ignore[assignment]  # what is used of it
        super().check_home(home)


class _AlwaysMember:
    def __init__(self, api: Any) -> None:
        self._api = api

    def get(self, *given: Any, **more: Any) -> Any:
        return {**self._api.get(*given, **more), "member": True}


class ChecksNoMembership(Toy):
    """The doctor does not notice that the bot is not in the chat."""

    diagnosis = _NoMembership


class WrongButtonUrl(Toy):
    """Buttons carry an address that the service does not have."""

    def _content(self, part: Part) -> dict[str, Any]:
        content = super()._content(part)
        for button in content["buttons"]:
            button["url"] = button["url"].replace("/webhooks/", "/hooks/")
        return content


class LongTitles(Toy):
    """A title is not cut to the limit."""

    def open_thread(self, home: Place, title: str, *, key: str, people: Sequence[str]) -> Place:
        body = {"title": title, "key": key, "people": list(people)}
        made = self._api.change("POST", f"/chats/{home.chat}/threads", body, {"id": str})
        return Place(self.name, home.chat, made["id"])


class TakesAnyToken(Toy):
    """The secret in the body is not compared."""

    def verify(self, *_: Any, **__: Any) -> bool:
        return True


class ReadsNoNamedMessage(Toy):
    """A message that the webhook only names is not read."""

    def fetch(self, *_: Any) -> None:
        return None


class DropsAttachments(Toy):
    """Of a message with a picture only the text is read."""

    def _message(self, event: Mapping[str, Any]) -> Inbound:
        return super()._message({**event, "attachments": [], "files": []})


class TakesForwardsForWords(Toy):
    """Words that another person wrote count as the sender's."""

    def _message(self, event: Mapping[str, Any]) -> Inbound:
        return super()._message({**event, "forwarded": False})


class TrustsAnySize(Toy):
    """A file is read to its end, however long it is."""

    def fetch_file(self, place: Place, file: ChatFile, *, limit: int) -> Iterator[bytes]:
        return super().fetch_file(place, replace(file, size=None), limit=limit * 100)


class ReadsWholeFiles(Toy):
    """A file is in memory as a whole."""

    def fetch_file(self, place: Place, file: ChatFile, *, limit: int) -> Iterator[bytes]:
        yield b"".join(super().fetch_file(place, file, limit=limit))


class PostsFilesAgain(Toy):
    """A repeat has another key."""

    def send_file(self, place: Place, file: OutFile, caption: Part | None, *, key: str) -> str:
        return super().send_file(place, file, caption, key=f"{key} {uuid.uuid4()}")


class KeepsLongCaptions(Toy):
    """A caption is not cut to the limit."""

    def send_file(self, place: Place, file: OutFile, caption: Part | None, *, key: str) -> str:
        self.capabilities = replace(self.capabilities, caption_limit=10**6)
        return super().send_file(place, file, caption, key=key)


MUTANTS = {
    TrustsAnySize: "test_a_download_that_is_not_the_file_is_refused",
    ReadsWholeFiles: "test_a_file_arrives_byte_for_byte",
    PostsFilesAgain: "test_a_file_without_an_answer_can_be_reconciled",
    KeepsLongCaptions: "test_a_long_caption_is_cut",
    NamesNobody: "test_people_who_would_not_see_a_thread_are_named_in_it",
    TrustsEveryKey: "test_a_key_that_another_person_has_copied_leads_to_no_message",
    ChecksNoMembership: "test_a_home_that_the_bot_is_not_in_is_reported",
    WrongButtonUrl: "test_a_press_names_button_message_place_and_person",
    LongTitles: "test_a_title_over_the_limit_is_cut",
    TakesAnyToken: "test_a_forged_signature_is_not_verified",
    DropsAttachments: "test_a_message_without_text_names_what_it_holds",
    TakesForwardsForWords: "test_forwarded_words_are_not_the_senders",
    ReadsNoNamedMessage: "test_a_message_comes_from_the_place_it_was_written_in",
}


def run(adapter: type[Toy], name: str) -> None:
    """One test of the contract on this adapter, in the owner's home."""
    chat = replace(CHAT, spec=replace(CHAT.spec, adapter=f"{adapter.__module__}:{adapter.__name__}"))
    case = platform_contract(chat)()
    test = getattr(case, name)
    homes = {"home": case.first_home} if "home" in inspect.signature(test).parameters else {}
    with platform_harness(chat) as at:
        test(at, **homes)


@pytest.mark.parametrize("adapter", MUTANTS, ids=lambda adapter: adapter.__name__)
def test_the_contract_fails_for_a_mutant(adapter: type[Toy]) -> None:
    run(Toy, MUTANTS[adapter])

    with pytest.raises((AssertionError, ValueError, PlatformError, pytest.fail.Exception)):
        run(adapter, MUTANTS[adapter])
