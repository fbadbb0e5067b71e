"""`/model` where the model of the service answers: chosen of those that the operator lists, and kept with the session."""

from dataclasses import replace

import pytest

from shared.domain.orders import VOID_TEXTS, Void
from shared.domain.routes import Place
from shared.use_cases.presses import NOT_YOURS
from shared.use_cases.questions.decide import NO_LONGER_ASKED
from tests.support.machine import post, press
from tests.support.use_case_world import USER, World


def offer(world: World, *models: str) -> None:
    """The operator lists these, the deployment's own first."""
    own, *more = models
    settings = replace(world.services.settings, agent_model=own, agent_models=", ".join(more))
    world.services = replace(world.services, settings=settings)


@pytest.fixture
def place(world: World) -> Place:
    place = world.moved()[1]
    world.turns()
    offer(world, "small", "large")
    return place


def said(world: World, place: Place, event_id: str, text: str) -> str:
    """What the thread says last, after the user has said something."""
    post(world, place, event_id, text)
    world.turns()
    return world.platform.said(place)[-1]


def asked(world: World) -> str | None:
    """The model of the newest turn."""
    return world.agent.models[-1]


def buttons(world: World, place: Place) -> list[str]:
    return [button.id for button in world.platform.posts[place][-1].buttons]


def test_a_model_is_listed_chosen_and_asked(world: World, place: Place) -> None:
    listed = said(world, place, "0001", "/model")
    assert "`small` ← now" in listed
    assert "`large`" in listed
    said(world, place, "0002", "Who are you?")
    assert asked(world) == "small"
    assert said(world, place, "0003", "/model LARGE") == "Model: `large`, from the next message on."
    said(world, place, "0004", "And now?")
    assert asked(world) == "large"
    assert "Model: `large`." in said(world, place, "0005", "/status")
    assert "`large` ← now" in said(world, place, "0006", "/model")


def test_an_unknown_one_is_refused_with_the_list(world: World, place: Place) -> None:
    refused = said(world, place, "0001", "/model huge")
    assert "no such model" in refused
    assert "`large`" in refused
    assert world.current().service_model is None


def test_a_button_of_the_list_chooses_once_however_often_it_is_delivered(world: World, place: Place) -> None:
    said(world, place, "0001", "/model")
    _, large = buttons(world, place)
    for _ in range(2):
        assert press(world, place, large) == "Model: `large`."
    world.turns()
    assert world.current().service_model == "large"
    assert sum("`large`, from" in text for text in world.platform.said(place)) == 1


def test_an_old_button_and_one_of_another_user_choose_nothing(world: World, place: Place) -> None:
    said(world, place, "0001", "/model")
    _, large = buttons(world, place)
    world.store.accounts.add_identity("grace", "chat", "grace-there")
    assert press(world, place, large, sender="grace-there") == NOT_YOURS
    offer(world, "small", "medium")
    assert press(world, place, large) == NO_LONGER_ASKED
    offer(world, "small", "large")
    assert press(world, place, f"m.{large.rpartition('.')[2]}") == NO_LONGER_ASKED
    world.wait(2 * 3600)
    assert press(world, place, large) == NO_LONGER_ASKED
    world.turns()
    assert world.current().service_model is None


def test_a_model_that_the_operator_took_from_the_list_is_not_asked(world: World, place: Place) -> None:
    said(world, place, "0001", "/model large")
    offer(world, "small", "medium")
    said(world, place, "0002", "Who are you?")
    assert asked(world) == "small"
    assert "Model: `small`." in said(world, place, "0003", "/status")


@pytest.mark.parametrize("models", [("",), ("small",), ("", "large")])
def test_without_a_list_there_is_nothing_to_choose(world: World, place: Place, models: tuple[str, ...]) -> None:
    offer(world, *models)
    assert "no model to choose" in said(world, place, "0001", "/model")
    assert "no model to choose" in said(world, place, "0002", "/model large")
    assert "Model:" not in said(world, place, "0003", "/status")
    assert world.current().service_model is None


def test_a_choice_at_the_same_time_as_a_turn_is_kept(world: World, place: Place) -> None:
    def choose() -> str:
        post(world, place, "0002", "/model large")
        world.messages()
        return "while it was chosen"

    world.agent.next.append(choose)
    said(world, place, "0001", "Work.")
    assert world.platform.said(place).count("while it was chosen") == 1
    assert world.current().service_model == "large"
    assert world.current().user_id == USER


def test_a_choice_that_is_run_after_a_later_one_is_not_kept(world: World, place: Place) -> None:
    """Each command has a line of its own."""
    said(world, place, "0002", "/model large")
    for event_id in ("0001", "0001"):
        assert said(world, place, event_id, "/model small") == VOID_TEXTS[Void.CHOSEN_AGAIN]
    assert world.current().service_model == "large"
    assert said(world, place, "0003", "/model small").startswith("Model: `small`")
