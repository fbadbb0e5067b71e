"""The contract of chat platforms, tested against the simulator and through their real SDKs."""

from local.chats.spec import LocalChat
from tests.contracts.platform.attachments import Attachments, Forwards, wire_of
from tests.contracts.platform.buttons import EditedButtons, NoButtons, Presses, SomeButtons
from tests.contracts.platform.case import PlatformTests, threadless_homes
from tests.contracts.platform.diagnosis import Diagnosis
from tests.contracts.platform.faults import Faults
from tests.contracts.platform.files import Fetches, SendsFiles
from tests.contracts.platform.garbled import Garbled
from tests.contracts.platform.harness import unconnected
from tests.contracts.platform.inbound import Inbound
from tests.contracts.platform.outbound import Edits, NoEdits, Outbound
from tests.contracts.platform.places import Places
from tests.contracts.platform.questions import Questions
from tests.contracts.platform.rendering import Rendering
from tests.contracts.platform.threads import Threadless, Threads


def platform_contract(chat: LocalChat) -> type[PlatformTests]:
    """The tests of one platform: all that apply to it."""
    tests: list[type[PlatformTests]] = [
        Outbound,
        Places,
        Faults,
        Garbled,
        Rendering,
        Questions,
        Inbound,
        Diagnosis,
        Fetches,
    ]
    can = unconnected(chat).capabilities
    tests.append(Forwards if wire_of(chat).forwards else Attachments)
    tests += [SendsFiles] if can.file_limit else []
    tests.append(Edits if can.edits else NoEdits)
    tests += [SomeButtons, Presses] if can.buttons else [NoButtons]
    if can.buttons and can.edits:
        tests.append(EditedButtons)
    if chat.spec.threads:
        tests.append(Threads)
    if threadless_homes(chat):
        tests.append(Threadless)
    return type(f"Test{chat.spec.title.replace(' ', '')}", tuple(tests), {"chat": chat, "__module__": __name__})
