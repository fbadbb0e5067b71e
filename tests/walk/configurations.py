"""What may happen in a walk: what the person does, and how many faults of each kind there are."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Configuration:
    """A session in a thread, or with `kickoff` on its way there."""

    name: str
    messages: int = 1
    stops: int = 0
    resumes: int = 0
    """Times that a terminal takes the session back."""
    brings: int = 0
    """Times that `/resume` in the thread brings it there again."""
    moves: int = 0
    """Times that `/handoff` in the thread moves it to another one."""
    kickoff: bool = False
    late_copies: int = 0
    """Webhooks that the platform delivers once more, much later."""
    crashes: int = 0
    naps: int = 0
    """Executors and sweeps that sleep past their leases and then go on."""
    slow: int = 0
    """Turn functions whose message becomes visible again while they work."""
    hidden: int = 0
    """Runs that no reader receives for an hour."""
    copies: int = 0
    """Runs that are received once more."""
    agent_failures: int = 0
    runners: int = 0
    """Processes of the user's machine; 0: the session has no machine."""
    cloud_first: bool = False
    """Whether the user has chosen the deployment's agent before."""
    clouds: int = 0
    """Times that the person types `/cloud`."""
    machines: int = 0
    """Times that the person types `/machine`."""
    asks: int = 0
    """Questions of the machine's agent, and presses of their buttons."""
    presses: int = 0
    choices: bool = False
    """Whether the agent asks for choices too, some of which do not block."""
    patient: bool = False
    """Whether the person presses only after the turn that asked."""
    sends: int = 0
    """Files that the machine's agent sends while it works."""
    queues: int = 0
    """Messages that the person sends with `/queue`."""
    revokes: int = 0
    files: int = 0
    """Messages of the person with a file each, beside `messages`."""
    refusals: int = 0
    """Reads of a file that the platform refuses for now."""
    orders: int = 0
    """Times that the person types `/model`, which the machine answers."""
    conflicts: int = 1
    """Writes that are refused because another transaction is at work, or whose answer is lost."""
    calm: bool = False
    """Agents answer at once, and nothing that happens is a fault."""
    executors: bool = True
    """Whether there are executors once all faults are over."""
    machine_stays: bool = True
    """Whether the machine is awake once all faults are over. If not, the person types `/cloud` then."""


CONFIGURATIONS = (
    Configuration("calm", messages=3, conflicts=0, calm=True),
    Configuration("calm_stop", messages=2, stops=1, conflicts=0, calm=True),
    Configuration("calm_resume", messages=2, resumes=1, brings=1, conflicts=0, calm=True),
    Configuration("calm_kick", kickoff=True, messages=2, conflicts=0, calm=True),
    Configuration("words", messages=2, crashes=1, hidden=1, copies=1, naps=1),
    Configuration("burst", messages=3, crashes=1, hidden=1),
    Configuration("strikes", messages=1, crashes=3, copies=1, naps=1),
    Configuration("strikes_two", messages=2, crashes=3, copies=1),
    Configuration("stop", messages=2, crashes=1, stops=1, hidden=1),
    Configuration("stop_again", messages=2, stops=1, late_copies=1, copies=1, naps=1),
    Configuration("slow", messages=2, slow=1, naps=1, copies=1),
    Configuration("resume", messages=2, crashes=1, resumes=1, brings=1, copies=1),
    Configuration("fail", messages=2, crashes=1, agent_failures=1, copies=1),
    Configuration("kick", kickoff=True, crashes=1, hidden=1, copies=1, resumes=1, agent_failures=1),
    Configuration("kick_strikes", kickoff=True, crashes=3, copies=1),
    Configuration("no_cloud", messages=2, crashes=1, hidden=1, executors=False),
    Configuration("no_cloud_stop", messages=2, crashes=1, stops=1, executors=False),
    Configuration("no_cloud_kick", kickoff=True, crashes=1, hidden=1, executors=False),
    Configuration("stop_strikes", stops=1, crashes=3),
    Configuration("kick_fail_words", messages=2, kickoff=True, agent_failures=1, crashes=1),
    Configuration("kick_stop", kickoff=True, stops=1),
    Configuration("kick_asleep", kickoff=True, naps=1, agent_failures=1, copies=1),
    Configuration("kick_strikes_asleep", kickoff=True, crashes=2, naps=1, copies=1),
    Configuration("calm_move", messages=2, moves=1, conflicts=0, calm=True),
    Configuration("move", messages=2, moves=1, crashes=1, hidden=1, copies=1),
    Configuration("move_stop", messages=2, moves=1, stops=1, late_copies=1, crashes=1),
    Configuration("move_resume", messages=1, moves=1, resumes=1, brings=1, crashes=1),
    Configuration("move_fail", messages=2, moves=1, agent_failures=1, crashes=1),
    Configuration("move_twice", messages=1, moves=2, brings=1, crashes=2, slow=1),
    Configuration("move_strikes", messages=1, moves=1, crashes=3, copies=1),
    Configuration("no_cloud_move", messages=2, moves=1, crashes=1, executors=False),
)
WITH_MACHINE = (
    Configuration("calm_machine", runners=1, messages=3, conflicts=0, calm=True),
    Configuration("calm_machine_stop", runners=1, messages=2, stops=1, conflicts=0, calm=True),
    Configuration("calm_machine_kick", runners=1, kickoff=True, messages=2, conflicts=0, calm=True),
    Configuration("machine", runners=2, messages=2, crashes=1, naps=1, copies=1),
    Configuration("machine_cap", runners=2, crashes=3, messages=1),
    Configuration("machine_cap_two", runners=2, crashes=4, messages=2, stops=1),
    Configuration("machine_stop", runners=1, messages=2, stops=1, crashes=1, late_copies=1),
    Configuration("machine_resume", runners=1, messages=2, resumes=1, brings=1, crashes=1, naps=1),
    Configuration("machine_fail", runners=1, messages=2, agent_failures=1, crashes=1, copies=1),
    Configuration("two_runners", runners=2, messages=2, clouds=1, crashes=1, naps=1, copies=1),
    Configuration("to_cloud", runners=1, messages=2, clouds=1, machines=1, crashes=1, copies=1),
    Configuration("to_cloud_asleep", runners=1, messages=1, clouds=1, machines=1, naps=1),
    Configuration("to_machine", runners=1, cloud_first=True, messages=2, clouds=1, machines=1, crashes=1, copies=1),
    Configuration("to_machine_asleep", runners=1, cloud_first=True, messages=1, machines=1, naps=1, hidden=1),
    Configuration("switch_strikes", runners=1, cloud_first=True, messages=1, machines=1, crashes=3),
    Configuration("switch_two", runners=2, cloud_first=True, messages=3, machines=1, crashes=1),
    Configuration("stop_switch", runners=1, messages=2, clouds=1, machines=1, stops=1, crashes=1),
    Configuration("resume_switch", runners=1, messages=2, clouds=1, machines=1, resumes=1, brings=1, crashes=1),
    Configuration("ask", runners=2, messages=2, asks=2, presses=2, crashes=1, naps=1),
    Configuration("ask_stop", runners=1, messages=2, asks=1, presses=1, stops=1),
    Configuration("ask_switch", runners=1, messages=1, asks=1, presses=1, clouds=1, crashes=1, naps=1),
    Configuration("steer", runners=1, messages=4, naps=1),
    Configuration("steer_crash", runners=2, messages=4, crashes=2, stops=1, copies=1),
    Configuration("revoke", runners=2, messages=2, revokes=1, crashes=1, naps=1),
    Configuration("revoke_ask", runners=1, messages=2, revokes=1, asks=1, presses=1),
    Configuration("kick_machine", runners=1, kickoff=True, crashes=1, naps=1, copies=1),
    Configuration("kick_machine_fail", runners=1, kickoff=True, agent_failures=1, messages=2, crashes=1),
    Configuration("kick_machine_resume", runners=2, kickoff=True, resumes=1, crashes=1),
    Configuration("kick_machine_strikes", runners=2, kickoff=True, crashes=3),
    Configuration("kick_machine_asleep", runners=2, kickoff=True, naps=1, agent_failures=1),
    Configuration("kick_switch", runners=1, kickoff=True, messages=1, clouds=1, machines=1, crashes=1),
    Configuration("machine_move", runners=1, messages=2, moves=1, crashes=1, naps=1),
    Configuration("machine_move_stop", runners=2, messages=2, moves=1, stops=1, crashes=1),
    Configuration("machine_move_fail", runners=1, messages=2, moves=1, agent_failures=1, asks=1, presses=1),
    Configuration("machine_move_switch", runners=1, messages=2, moves=1, clouds=1, machines=1, crashes=1),
    Configuration("away_move", runners=1, messages=1, moves=1, crashes=1, machine_stays=False),
    Configuration("away", runners=1, messages=2, crashes=1, machine_stays=False),
    Configuration("away_stop", runners=1, messages=2, stops=1, naps=1, machine_stays=False),
    Configuration("kick_away", runners=1, kickoff=True, crashes=1, machine_stays=False),
    Configuration("no_cloud_machine", runners=1, messages=2, crashes=1, naps=1, executors=False),
    Configuration("no_cloud_to_machine", runners=1, cloud_first=True, messages=2, machines=1, executors=False),
)
WITH_ORDERS = (
    Configuration("calm_order", runners=1, messages=1, orders=2, conflicts=0, calm=True),
    Configuration("order", runners=2, messages=1, orders=2, crashes=2, naps=1, copies=2, late_copies=1),
    Configuration("order_stop", runners=1, messages=2, orders=1, stops=1, crashes=1, late_copies=1),
    Configuration("order_move", runners=2, messages=1, orders=2, resumes=1, brings=1, crashes=1, naps=1),
    Configuration("order_hand_over", runners=1, messages=1, orders=1, moves=1, crashes=1, naps=1),
    Configuration("order_revoke", runners=2, messages=1, orders=2, revokes=1, crashes=1, naps=1),
    Configuration("order_switch", runners=1, messages=1, orders=2, clouds=1, machines=1, crashes=1, copies=1),
    Configuration("order_away", runners=1, messages=1, orders=2, crashes=2, machine_stays=False),
)
"""With a machine that gets orders. Apart from the others, so that their seeds lead to the same walks as before."""
WITH_FILES = (
    Configuration("calm_file", files=2, messages=1, conflicts=0, calm=True),
    Configuration("calm_file_machine", runners=1, files=2, messages=1, conflicts=0, calm=True),
    Configuration("file", files=1, messages=1, crashes=1, hidden=1, copies=1, naps=1),
    Configuration("file_crashes", files=2, messages=0, crashes=3, copies=2),
    Configuration("file_lost", files=2, messages=1, hidden=3, crashes=1),
    Configuration("file_asleep", files=2, messages=1, naps=2, copies=2, refusals=2),
    Configuration("file_refused", files=2, messages=1, refusals=4, crashes=1, copies=1),
    Configuration("file_stop", files=2, messages=1, stops=1, crashes=1, late_copies=1),
    Configuration("file_resume", files=2, messages=0, resumes=1, brings=1, crashes=1, copies=1),
    Configuration("file_move", files=2, messages=1, moves=1, crashes=1, hidden=1),
    Configuration("file_kick", files=1, messages=1, kickoff=True, crashes=1, copies=1),
    Configuration("file_slow", files=2, messages=0, slow=1, copies=1),
    Configuration("no_cloud_file", files=1, messages=1, crashes=1, hidden=1, executors=False),
    Configuration("file_machine", runners=2, files=2, messages=1, crashes=1, naps=1, copies=1),
    Configuration("file_steer", runners=1, files=2, messages=2, hidden=1, copies=1),
    Configuration("file_switch", runners=1, files=2, messages=0, clouds=1, machines=1, crashes=1),
)
"""With messages that have a file, which is read beside the line of its place."""
WITH_SENDS = (
    Configuration("calm_send", runners=1, messages=2, sends=3, conflicts=0, calm=True),
    Configuration("send", runners=2, messages=2, sends=3, crashes=2, copies=2, naps=1),
    Configuration("send_crashes", runners=2, messages=1, sends=3, crashes=4),
    Configuration("send_stop", runners=1, messages=2, sends=3, stops=1, crashes=1),
    Configuration("send_resume", runners=1, messages=1, sends=3, resumes=1, brings=1, crashes=1, naps=1),
    Configuration("send_move", runners=1, messages=1, sends=3, moves=1, crashes=1),
    Configuration("send_switch", runners=2, messages=2, sends=3, clouds=1, machines=1, crashes=1, copies=1),
    Configuration("send_revoke", runners=2, messages=1, sends=2, revokes=1, naps=1),
    Configuration("send_away", runners=1, messages=1, sends=3, crashes=2, machine_stays=False),
)
"""With a machine whose agent sends files."""
WITH_CHOICES = (
    Configuration("calm_queue", runners=1, messages=2, queues=2, conflicts=0, calm=True),
    Configuration("choose", runners=1, messages=3, asks=3, presses=3, choices=True, naps=1),
    Configuration("choose_crash", runners=2, messages=3, asks=3, presses=3, choices=True, crashes=2),
    Configuration("choose_stop", runners=1, messages=3, asks=2, presses=2, choices=True, stops=1, crashes=1),
    Configuration("choose_resume", runners=1, messages=2, asks=2, presses=2, choices=True, resumes=1, brings=1),
    Configuration("choose_switch", runners=1, messages=2, asks=2, presses=2, choices=True, clouds=1, machines=1),
    Configuration("choose_copies", runners=2, messages=2, asks=3, presses=4, choices=True, copies=2, naps=1),
    Configuration("choose_late", runners=1, messages=2, asks=3, presses=3, choices=True, patient=True, crashes=1),
    Configuration("choose_late_stop", runners=2, messages=2, asks=3, presses=4, choices=True, patient=True, stops=1),
    Configuration("queue", runners=1, messages=2, queues=2, crashes=1, naps=1),
    Configuration("queue_choose", runners=2, messages=2, queues=2, asks=2, presses=2, choices=True, crashes=1),
)
