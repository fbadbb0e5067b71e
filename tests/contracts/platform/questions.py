"""Questions of an agent: what is posted shows all that would be done, or it cannot be allowed."""

import json
import random
import re
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from acp import schema

from functions.request.runner_bodies import AskBody, OptionBody
from handoff_cli.runner.questions.request import Request
from handoff_cli.runner.questions.shown import LONGEST_INPUT, MASKED, TOO_LONG, Shown, shown
from handoff_cli.runner.questions.visible import visible
from shared.domain.question_text import as_line
from shared.domain.questions import CHOICE, Option, Question, QuestionState
from shared.domain.routes import Place
from shared.ports.platforms import Part, Platform
from shared.use_cases.deliver import REPEAT_MARK
from shared.use_cases.questions.show import plan_parts, rendered
from tests.contracts.platform.case import PlatformTests
from tests.contracts.platform.harness import PlatformHarness, unconnected
from tests.support.question_text import arguments, code_of, entries, patched

INPUTS = 200
OPTIONS = [Option("1", "allow_once", "Allow"), Option("2", "reject_once", "Reject")]
_WORDS = re.findall(
    r"\S+",
    """
    rm -r ~ ; && || | > < $( ) ` `` ``` ```` ~~~ " ' \\ \\n \\u200b {} [] * ** _x_ __x__ # ## - + 1. | a | b | |---|---|
    <b> </b> &lt; &amp; <!here> <@U1> <@&7> @everyone @here @room @channel https://a.test/?b=c [x](https://a.test) ![i](a)
    /stop /approve ▸ ↵ ⇥ ⟦U+0041⟧ × Привет 你好 שלום مرحبا é e\u0301 👩\u200d👩 🇩🇪 \u0301 : = . ( )
    """,
)
_SECRETS = ["password=hunter2222", "https://user:secret@host/", "sk-abcdefghij0123456789", "AKIAABCDEFGHIJKLMNOP"]
_HIDDEN = "\u202e\u2066\u200b\u2060\ufeff\x00\x1b\r\x0b\u2028\u00a0\u3164\ufe0f\ud83d"
_BETWEEN = ["", " ", " ", "\n", "\n\n", "\t", "    ", " " * 60, "\n  "]


def text_of(made: random.Random, most: int) -> str:
    if made.random() < 0.1:
        return made.choice(["x", " ", "\n", "`", "a ", "é", "&", "@here "]) * made.randrange(most + 1)
    text = ""
    while len(text) < most:
        text += made.choice(_WORDS if made.random() < 0.9 else _HIDDEN) + made.choice(_BETWEEN)
    return text if made.random() < 0.9 else text + made.choice(_SECRETS)


def value_of(made: random.Random, most: int) -> Any:
    kind = made.randrange(8)
    if kind == 0:
        return made.choice([True, None, 7, 1.5, {}, [], ""])
    if kind == 1:
        return [value_of(made, most // 4) for _ in range(made.randrange(4))]
    if kind == 2:
        return {text_of(made, 12): value_of(made, most // 4) for _ in range(made.randrange(4))}
    return text_of(made, most)


def request_of(seed: int) -> Request:
    """A request of any agent: long or short, with many arguments, with a diff, with everything that is hard to show."""
    made = random.Random(seed)  # noqa: S311 - repeatable
    most = made.choice([20, 60, 200, 200, 600, 2000, 5000])
    given = {"command": text_of(made, most), **{text_of(made, 12): value_of(made, most // 4) for _ in range(seed % 5)}}
    old, new = text_of(made, most // 2), text_of(made, most // 2)
    edit = schema.FileEditToolCallContent(type="diff", path=text_of(made, 12) or "a", old_text=old, new_text=new)
    return Request(
        title=text_of(made, 60),
        kind="execute",
        input=None if seed % 9 == 0 else given,
        content=(edit,) * (seed % 3 == 0),
    )


def asked(request: Request) -> tuple[Question, Shown] | None:
    """The question, as the service gets it from a runner."""
    found = shown(request)
    if found is None:
        return None
    options = [
        OptionBody(id=option.id, kind=option.kind, name=option.name)
        for option in found.offered(OPTIONS, kind=request.kind, for_good=False)
    ]
    body = AskBody(n=1, title=found.title, detail=found.detail, reason=found.reason, options=options)
    known = body.domain()
    return (
        Question(
            "s",
            "t" * 32,
            1,
            1,
            known.title,
            known.options,
            0,
            detail=known.detail,
            reason=known.reason,
            shown_as=999_999,
        ),
        found,
    )


@cache
def made_of(seed: int) -> tuple[Request, Question, Shown] | None:
    """A request that can be asked, and its question: the same for all platforms."""
    request = request_of(seed)
    made = asked(request)
    return (request, *made) if made else None


def size_of(request: Request) -> int:
    """Bytes of all that is asked, as JSON."""
    content = [
        block.model_dump(mode="json") for block in request.content if isinstance(block, schema.FileEditToolCallContent)
    ]
    return len(json.dumps([request.input, content], ensure_ascii=False).encode("utf-8", "surrogatepass"))


class Questions(PlatformTests):
    """Nothing is run that was not shown."""

    def test_what_is_posted_can_be_read_back_or_is_not_allowed(self) -> None:
        platform = unconnected(self.chat)
        allowed = 0
        for seed in range(INPUTS):
            if (made := made_of(seed)) is None:
                continue
            request, question, found = made
            parts = rendered(platform, question)
            assert [bool(part.buttons) for part in parts[:-1]] == [False] * (len(parts) - 1)
            assert bool(parts[-1].buttons) is platform.capabilities.buttons
            assert all(_fits(platform, part) for part in parts)
            may_allow = any(option.allows for option in question.options)
            assert may_allow is not bool(found.reason)
            assert found.reason != MASKED or "[redacted " in found.detail, f"seed {seed}"
            assert found.reason != TOO_LONG or size_of(request) > LONGEST_INPUT, f"seed {seed}"
            allowed += may_allow
            if may_allow:
                _check_read_back(request, code_of(parts), f"seed {seed}")
        assert allowed > INPUTS // 4

    def test_a_decided_question_still_shows_its_detail(self) -> None:
        platform = unconnected(self.chat)
        for seed in range(0, INPUTS, 10):
            if (made := made_of(seed)) is not None:
                _, question, _ = made
                decided = replace(question, state=QuestionState.ANSWERED, option=question.options[0].id)
                before, after = rendered(platform, question), rendered(platform, decided)
                assert code_of(before) == code_of(after)
                assert len(before) == len(after)
                assert not after[-1].buttons

    def test_all_texts_of_a_choice_are_posted_and_its_buttons_fit(self) -> None:
        platform = unconnected(self.chat)
        for seed in range(0, INPUTS, 5):
            made = random.Random(seed)  # noqa: S311 - repeatable
            names = [f"{at} {visible(text_of(made, 60))}"[:200] for at in range(made.choice([1, 3, 4, 12, 20]))]
            options = [Option(str(number), CHOICE, name, "why " * (seed % 3)) for number, name in enumerate(names)]
            question = Question(
                "s", "t" * 32, 999_999, 999_999, "Which?", options, 0, kind=CHOICE, free=True, several=seed % 2 == 0,
                marks=(1,) * len(options), shown_as=999_999,
            )  # fmt: skip
            parts = rendered(platform, question)
            assert all(_fits(platform, part) for part in parts)
            shown = _without_layout(code_of(parts))
            for number, name in enumerate(names, start=1):
                assert _without_layout(f"{number}. {as_line(name)}") in shown, f"seed {seed}"
            assert len(parts[-1].buttons) <= platform.capabilities.most_buttons
            assert len(parts) == len(rendered(platform, replace(question, state=QuestionState.EXPIRED)))

    @pytest.mark.parametrize(
        "hiding",
        [
            "[//]: # (rm -r ~)", "> 1. [a b]: https://a.test 'rm'", "a [^1]\n\n[^1]: rm -r ~", "<!-- rm -r ~ -->",
            "<details>rm</details>", "[a](https://a.test 'rm')", "[a](https://a.test\n(rm))", "![rm](https://a.test)",
            "~~~sh rm -r ~\nls\n~~~", "| a |\n|---|\n| b | rm |", "a\n-: | -\nb | rm | rm", "a&#8238;b", "a&ZeroWidthSpace;b",
        ],
    )  # fmt: skip
    def test_a_plan_in_which_markdown_could_hide_something_is_code(self, hiding: str) -> None:
        platform = unconnected(self.chat)
        plan = f"# Plan\n\n{hiding}\n\n- step\n" + "- and another\n" * 200
        parts = plan_parts(platform, plan)
        assert all(_fits(platform, part) for part in parts)
        assert _without_layout(code_of(parts)) == _without_layout(plan)

    def test_another_plan_is_markdown(self) -> None:
        platform = unconnected(self.chat)
        plan = "# Plan\n\n1. Run `a && b | c`:\n   - **see** [this](https://a.test/b_c)\n\n```sh\nmake\n```\n\n---\n- [ ] x < y\n"
        assert plan_parts(platform, plan) == platform.render(plan)

    def test_a_question_arrives_as_it_was_made(self, at: PlatformHarness) -> None:
        place: Place = self.open(at, self.first_home)
        before = len(at.posted(self.first_home, place))
        given = {"command": "echo *a* _b_ <c> & `d` ~e~ | \\ \n  " * 100, "path": "/etc"}
        made = asked(Request(input=given, title="Run **this** <now>"))
        assert made is not None
        parts = rendered(at.platform, made[0])
        for number, part in enumerate(parts):
            at.platform.send(place, part, key=f"question#{number}")
        posted = [message["text"] for message in at.posted(self.first_home, place)[before:]]
        assert posted == [part.text for part in parts]
        assert arguments(code_of(parts)) == given


def _without_layout(text: str) -> str:
    """Without blanks and what a platform puts between characters."""
    return re.sub("[\\s\u200b\u2060]", "", text)


def _fits(platform: Platform, part: Part) -> bool:
    can = platform.capabilities
    room = 0 if can.key or can.readback else len(REPEAT_MARK)
    return can.length(part.text) <= can.limit - room


def _check_read_back(request: Request, code: str, why: str) -> None:
    assert arguments(code) == (request.input or {}), why
    known = dict(entries(code))
    for block in request.content:
        assert isinstance(block, schema.FileEditToolCallContent)
        if "(diff)" in known:
            assert (known["(file)"], patched(block.old_text or "", known["(diff)"])) == (block.path, block.new_text), (
                why
            )
