"""Creates or upgrades the stack: settle what an earlier run left, plan, ask, apply, follow."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from local.operate.deploy import change_set, template
from local.operate.deploy.aws import Account
from local.operate.deploy.bucket import Bucket
from local.operate.deploy.change_set import ChangeSet, shown, summary
from local.operate.deploy.console import Talk
from local.operate.deploy.owner import Owner, owner_of
from local.operate.deploy.problems import Stopped
from local.operate.deploy.settings import Settings
from local.operate.deploy.stacks import NEVER_CREATED, Follower, StackState, describe

DONE = frozenset({"CREATE_COMPLETE", "UPDATE_COMPLETE"})
STUCK = frozenset({"UPDATE_ROLLBACK_FAILED"})
_ANSWER = "The plan needs your agreement: repeat the command with --yes, or at a terminal. The stack was not changed."


def refuse(stack: StackState, owner: Owner, settings: Settings) -> None:
    """Raise Stopped for a stack that a deploy must not change: one of something else, or one that is half removed."""
    if owner is Owner.OTHER:
        raise Stopped(
            f"The stack {stack.name} is not one of Handoff. Nothing was changed. Choose another name with --stack."
        )
    if stack.status in NEVER_CREATED and owner is not Owner.HANDOFF:
        raise Stopped(
            f"The creation of the stack {stack.name} failed under an earlier version, and nothing but its name shows that it "
            "is Handoff's. Nothing was changed. Delete it in the AWS console, then repeat the command."
        )
    if stack.status == "DELETE_FAILED":
        raise Stopped(f"The stack {stack.name} is half removed. Finish that first: handoff destroy {settings.options}")


@dataclass
class Deploy:
    """One run. Whatever ends it, the next run begins with `settle` and ends well."""

    account: Account
    settings: Settings
    talk: Talk
    version: str
    make_zip: Callable[[], Path]
    replace_tables: bool = False

    def run(self) -> tuple[StackState, bool]:
        """Return the stack and whether it was changed. Raises Stopped."""
        document = template.load()
        template.check_parameters(document, self.settings.given)
        self.settle()
        place, code = self._upload()
        # Built and uploaded in the meantime: look again.
        stack = self.settle()
        plan = self._plan(document, stack, place, code)
        if plan is None and stack is not None:
            self.talk.say("Nothing to change: the stack runs this version with these settings.")
            return stack, False
        if plan is None:
            raise Stopped("CloudFormation has nothing to create. Nothing was changed.")
        self._agree(plan)
        return self._apply(plan), True

    def settle(self) -> StackState | None:
        """Bring the stack to a state in which it can be changed; None if there is none. Raises Stopped."""
        stack = describe(self.account.cloudformation, self.settings.stack)
        while stack is not None and stack.is_busy:
            self.talk.say(
                f"AWS is at work on the stack ({stack.status}), from an earlier or another deploy. Following it:"
            )
            self._follower(stack.id).follow(is_running=True)
            stack = describe(self.account.cloudformation, self.settings.stack)
        if stack is None:
            return None
        refuse(stack, owner_of(self.account.cloudformation, stack), self.settings)
        if stack.status in NEVER_CREATED:
            self._remove_failed(stack)
            return None
        if stack.status in STUCK:
            return self._finish_rollback(stack)
        return stack

    def _remove_failed(self, stack: StackState) -> None:
        """A stack that was never created completely holds nothing, and nothing else can be done with it."""
        self.talk.say(f"An earlier deploy failed ({stack.status}); removing what it left:")
        follower = self._follower(stack.id)
        self.account.cloudformation.delete_stack(StackName=stack.id)
        if (end := follower.follow()) != "DELETE_COMPLETE":
            raise Stopped(f"It could not be removed ({end}). {self._reasons(follower)}")

    def _finish_rollback(self, stack: StackState) -> StackState:
        self.talk.say("The roll-back of an earlier upgrade failed; finishing it:")
        follower = self._follower(stack.id)
        self.account.cloudformation.continue_update_rollback(StackName=stack.id)
        end = follower.follow()
        if end != "UPDATE_ROLLBACK_COMPLETE":
            raise Stopped(f"It failed again ({end}). {self._reasons(follower)} Mend that, then repeat the command.")
        return replace(stack, status=end)

    def _upload(self) -> tuple[Bucket, str]:
        content = self.make_zip().read_bytes()
        bucket = Bucket(self.account)
        if bucket.ensure():
            self.talk.say(f"Made the bucket {bucket.name}: private, encrypted.")
        self.talk.say(f"Uploading the code, {len(content) / 1e6:.1f} MB, unless it is there ...")
        return bucket, bucket.upload(self.settings.stack, content, ".zip")

    def _plan(self, document: Any, stack: StackState | None, bucket: Bucket, code: str) -> ChangeSet | None:
        previous = stack.parameters if stack else {}
        given = dict(self.settings.given)
        if not previous:
            given.setdefault("SecretsPrefix", self.settings.prefix)
        release = template.for_release(
            document,
            bucket=bucket.name,
            key=code,
            version=self.version,
            snap_start=self.uses_snap_start(stack),
            values=template.values_of(document, {**previous, **given}),
        )
        key = bucket.upload(self.settings.stack, template.as_text(release).encode(), ".json")
        self.talk.say("Planning ...")
        return change_set.make(
            self.account.cloudformation,
            stack,
            self.settings.stack,
            template_url=bucket.url(key),
            parameters=given,
            known=list(document["Parameters"]),
        )

    def uses_snap_start(self, stack: StackState | None) -> bool:
        """As asked for; else as it is."""
        if self.settings.snap_start is not None or stack is None:
            return bool(self.settings.snap_start)
        return "snap-start" in stack.outputs.get(template.RELEASE, "")

    def _agree(self, plan: ChangeSet) -> None:
        """Show the plan and ask. Raises Stopped, and removes the plan, unless the operator agrees."""
        verb = "create" if plan.is_creation else "change"
        place = f"the stack {self.settings.stack} in {self.account.region}"
        self.talk.say(f"Plan to {verb} {place}: {summary(plan.changes)}.")
        for line in shown(plan.changes):
            self.talk.say(line)
        try:
            self._refuse_loss(plan)
            agreed = self.talk.confirm("Apply this? [y/N] ", refused=_ANSWER)
        except BaseException:
            plan.discard()
            raise
        if not agreed:
            plan.discard()
            raise Stopped("Nothing was changed.")

    def _refuse_loss(self, plan: ChangeSet) -> None:
        lost = [change.resource for change in plan.changes if change.loses_data]
        if not lost:
            return
        self.talk.say(f"WARNING: {', '.join(lost)} would be replaced by empty ones or leave the stack.")
        self.talk.say("What is in them is kept beside the stack, but the service would not see it any more.")
        if not self.replace_tables:
            raise Stopped(
                "Data would be out of reach, so nothing was changed. Export it first (`handoff data export "
                f"{self.settings.options} FILE`), then repeat the command with --replace-tables."
            )

    def _apply(self, plan: ChangeSet) -> StackState:
        follower = self._follower(plan.stack_id)
        plan.execute()
        self.talk.say("Applying. Ctrl-C ends only this display: AWS goes on, and the same command follows it again.")
        end = follower.follow()
        if end not in DONE:
            holds = "What it had made is removed." if plan.is_creation else "The version before serves as it did."
            raise Stopped(
                f"AWS could not apply it ({end}). {holds} {self._reasons(follower)} Mend that, then repeat the command."
            )
        found = describe(self.account.cloudformation, plan.stack_id)
        if found is None:
            raise Stopped("The stack was removed right after it was changed. Repeat the command to create it again.")
        return found

    def _follower(self, stack_id: str) -> Follower:
        return Follower(self.account.cloudformation, stack_id, self.talk.event, self.talk.say, self.talk.sleep)

    @staticmethod
    def _reasons(follower: Follower) -> str:
        found = [f"{event.resource}: {event.reason or event.status}" for event in follower.failures[:3]]
        return f"Reason: {'; '.join(found)}." if found else "CloudFormation gave no reason."
