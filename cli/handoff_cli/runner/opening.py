"""The first prompt of a claimed turn, with what the agent has missed and what its own session has already."""

import asyncio
from pathlib import Path
from typing import Any

from handoff_cli.runner.machine.sessions import HandedOver
from handoff_cli.runner.prompts import MISSED_LIMIT, already_given, first_prompt, note_of, said_by_user
from handoff_cli.runner.runner import Runner
from handoff_cli.runner.wire.verdicts import Verdict
from handoff_cli.transcripts.messages import Message

Claim = dict[str, Any]


async def opening(runner: Runner, session: HandedOver, claim: Claim) -> str:
    """Words that an interrupted agent was given before are not repeated to it."""
    words, interrupted = claim["words"], bool(claim.get("native_dirty"))
    given, answers = [False] * len(words), list(claim.get("answers") or ())
    if interrupted:
        said = await said_in(runner, session) or []
        given = already_given(words, said)
        answers = [one for one in answers if not any(note_of(one) in text for text in said)]
    missed = await _missed(runner, session.session_id, claim)
    return first_prompt(words, missed=missed, given=given, interrupted=interrupted, answers=answers)


async def said_in(runner: Runner, session: HandedOver) -> list[str] | None:
    """What the user has said in the agent's own session; None if that cannot be read."""
    where = (session.agent, session.native_id, Path(session.directory), runner.environ)
    return await asyncio.to_thread(said_by_user, *where)


async def _missed(runner: Runner, session_id: str, claim: Claim) -> list[Message]:
    """The messages that the agent has not seen. Pages that cannot be read now are left out: the newest matter most."""
    missed: list[Message] = list(claim.get("unseen") or [])
    after = claim.get("unseen_next")
    while after is not None:
        answer = await runner.service.messages(session_id, after=after)
        if answer.verdict is not Verdict.GO_ON:
            break
        missed = [*missed, *answer.body["messages"]]
        while len(missed) > 1 and sum(len(str(message.get("content"))) for message in missed) > 2 * MISSED_LIMIT:
            missed.pop(0)
        following = answer.body.get("next")
        after = following if following is not None and following > after else None  # a page is read once
    return [message for message in missed if not message.get("internal")]
