"""`handoff destroy`: removes the stack, and what it keeps only if that is asked for."""

from dataclasses import dataclass
from typing import Any

from local.operate.deploy.aws import Account
from local.operate.deploy.console import Talk
from local.operate.deploy.left_behind import Left, LeftBehind
from local.operate.deploy.owner import Owner, owner_of
from local.operate.deploy.problems import Stopped
from local.operate.deploy.settings import Settings
from local.operate.deploy.stacks import REVIEW, Follower, StackState, describe

_HAND = "aws cloudformation delete-stack --stack-name"


@dataclass
class Destroy:
    """One run; it may be repeated after any interruption."""

    account: Account
    settings: Settings
    talk: Talk
    delete_data: bool = False

    def run(self) -> dict[str, Any]:
        """Raises Stopped. Returns what was removed and what is kept."""
        name = self.settings.stack
        behind = LeftBehind(self.account, name)
        stack = describe(self.account.cloudformation, name)
        if stack is not None:
            self._refuse(stack)
            left = behind.by(stack)
        else:
            left = behind.by_removed()
        for note in left.notes:
            self.talk.say(note)
        if stack is None and not left:
            raise Stopped(
                f"There is no stack {name} in {self.account.region}, and nothing that one has left. Name another one with "
                "--stack or --region."
            )
        if stack is None:
            self.talk.say(f"There is no stack {name} any more, but it has left something.")
        self._agree(left, is_there=stack is not None)
        if stack is not None:
            self._remove(stack)
        if self.delete_data:
            self._delete(behind, left)
            left = behind.by_removed().without(left)
        if left:
            self._tell_kept(left)
        return {
            "stack": name,
            "url": stack.outputs.get("ApiUrl", "") if stack else "",
            "deleted_data": self.delete_data,
            "kept": left.names(),
        }

    def _refuse(self, stack: StackState) -> None:
        """Raises Stopped for a stack that does not carry Handoff's mark, and for one that is being changed."""
        name, region = stack.name, self.account.region
        match owner_of(self.account.cloudformation, stack):
            case Owner.OLDER:
                raise Stopped(
                    f"The stack {name} was deployed by an earlier version and does not carry the mark by which a stack of "
                    f"Handoff is known. Nothing was removed. Deploy once, which adds it, then repeat the command: handoff "
                    f"deploy {self.settings.options}"
                )
            case Owner.NOBODY:
                raise Stopped(
                    f"The stack {name} in {region} is empty and has no plan, so nothing shows whose it is. Nothing was "
                    f"removed. If it is yours: {_HAND} {name} --region {region}"
                )
            case Owner.OTHER:
                raise Stopped(
                    f"The stack {name} in {region} is not one of Handoff. Nothing was removed. Name another one with --stack."
                )
        if stack.is_busy and not stack.status.startswith("DELETE"):
            raise Stopped(
                f"AWS is at work on the stack ({stack.status}). Nothing was removed. Repeat the command when it is done."
            )

    def _agree(self, left: Left, *, is_there: bool) -> None:
        talk, name = self.talk, self.settings.stack
        if is_there:
            talk.say(f"This removes the stack {name} in {self.account.region}: functions, API, schedule, alarms, logs.")
        if self.delete_data:
            code = f"{len(left.code)} uploaded files of code" if left.code else ""
            gone = [*left.names(), *filter(None, [code])]
            lost = "All sessions, transcripts and files are lost." if left.tables else "No table is among it."
            talk.say(f"With --delete-data also: {', '.join(gone) or 'nothing'}. {lost}")
            refused = (
                f"To delete the data without a question: handoff destroy {self.settings.options} --delete-data --yes"
            )
            if (
                not talk.yes
                and talk.answer("Type the name of the stack to delete everything: ", refused=refused) != name
            ):
                raise Stopped("Nothing was removed.")
            return
        talk.say(
            "Tables, queues and files are kept, with all data, and cost little. --delete-data removes them as well."
        )
        refused = "Repeat the command with --yes, or at a terminal. Nothing was removed."
        if is_there and not talk.confirm("Remove it? [y/N] ", refused=refused):
            raise Stopped("Nothing was removed.")

    def _remove(self, stack: StackState) -> None:
        client = self.account.cloudformation
        if stack.status == REVIEW:
            client.delete_stack(StackName=stack.id)
            return
        follower = Follower(client, stack.id, self.talk.event, self.talk.say, self.talk.sleep)
        if not stack.is_busy:
            client.delete_stack(StackName=stack.id)
        end = follower.follow(is_running=stack.is_busy)
        if end != "DELETE_COMPLETE":
            reasons = "; ".join(f"{one.resource}: {one.reason}" for one in follower.failures[:3])
            raise Stopped(f"AWS could not remove all of it ({end}). {reasons} Mend that, then repeat the command.")
        self.talk.say(f"The stack {stack.name} is removed.")

    def _delete(self, behind: LeftBehind, left: Left) -> None:
        """Raises Stopped if something could not be deleted; a repeated run finds it."""
        failed = behind.delete(left)
        if failed:
            raise Stopped(
                f"{len(failed)} could not be deleted: {'; '.join(failed)}. The rest is deleted. `handoff deploy --policy` prints "
                f"the rights that are needed. Repeat the command: handoff destroy {self.settings.options} --delete-data"
            )
        self.talk.say("What was named is deleted.")
        if left.tables:
            self.talk.say("AWS keeps a backup of a table with point-in-time recovery for 35 days.")

    def _tell_kept(self, left: Left) -> None:
        """Also what an earlier stack of the same name has left."""
        self.talk.say("Kept, with all data:")
        for name in left.names():
            self.talk.say(f"  {name}")
        if left.code:
            self.talk.say("  the uploaded code")
        self.talk.say(f"Delete it with: handoff destroy {self.settings.options} --delete-data")
