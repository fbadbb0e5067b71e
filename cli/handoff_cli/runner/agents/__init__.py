"""The agents as a table: how each one starts, is asked for its version, and opens a session by its own id."""

import shlex

from handoff_cli.errors import UsageProblem
from handoff_cli.runner.agents.opencode import asking_environ
from handoff_cli.runner.agents.spec import AgentSpec, Forcing, Npm, Program
from handoff_cli.runner.outgoing.names import NAME

ACP = "acp"
_TESTED_NODE = (22,)

CLAUDE_CODE = AgentSpec(
    name="claude-code",
    title="Claude Code",
    program=Program("claude", (2, 1), install="npm install -g @anthropic-ai/claude-code", update="claude update"),
    adapter=Npm("claude-agent-acp", "@agentclientprotocol/claude-agent-acp", (0, 99, 1), node=_TESTED_NODE),
    program_variable="CLAUDE_CODE_EXECUTABLE",
    native=("claude", "--resume", "{id}"),
    in_terminal="/resume {id}",
    # The mode of the terminal goes along with the session, and its default runs tools without asking.
    asking_modes=("default", "plan"),
    environ={
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_AUTOUPDATER": "1",
        # Each turn but the first would cost one more call of the model.
        "CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION": "false",
    },
    stays_open="watched",
    tools="listed",
    opened_with={"claudeCode": {"options": {"allowedTools": [NAME]}}},
    root_environ={"IS_SANDBOX": "1"},
)

CODEX = AgentSpec(
    name="codex",
    title="Codex",
    program=Program(
        "codex", (0, 166), install="npm install -g @openai/codex", update="npm install -g @openai/codex@latest"
    ),
    # Another package has a program of this name, with an older core that makes threads unreadable.
    adapter=Npm("codex-acp", "@agentclientprotocol/codex-acp", (2, 6), node=_TESTED_NODE),
    program_variable="CODEX_PATH",
    native=("codex", "resume", "{id}"),
    # Its default lets a reviewing model decide in the user's place.
    asking_modes=("read-only",),
    mode_option="collaboration_mode",
    mode_values=("default", "plan"),
    # One process at a time may write a thread; the terminal's daemon holds it for a minute after its end.
    busy_marks=("thread_active_writer", "active writer"),
    busy_seconds=90,
    stays_open="alone",
    tools="named",
)

OPENCODE = AgentSpec(
    name="opencode",
    title="opencode",
    program=Program("opencode", (1, 18), install="npm install -g opencode-ai", update="opencode upgrade"),
    arguments=("acp",),
    native=("opencode", "-s", "{id}"),
    # Its modes are agents with rules of their own, and by default all of them run everything.
    forcing=Forcing((1, 18), asking_environ),
    environ={"OPENCODE_DISABLE_AUTOUPDATE": "1"},
    tools="listed",
    open_seconds=120,
)

GEMINI = AgentSpec(
    name="gemini",
    title="Gemini CLI",
    program=Program(
        "gemini", (0, 61), install="npm install -g @google/gemini-cli", update="npm install -g @google/gemini-cli"
    ),
    arguments=("--acp",),
    native=("gemini", "--resume", "{id}"),
    asking_modes=("default",),
    titles_are_commands=True,
    opens="load",
    # Loading a session in the minute in which it was made destroys it.
    new_minute=True,
)

HERMES = AgentSpec(
    name="hermes",
    title="hermes-agent",
    program=Program("hermes", (0,), install="pip install hermes-agent", update="pip install -U hermes-agent"),
    native=("hermes", "--resume", "{id}"),
    unsupported="hermes-agent opens over ACP only sessions that were begun there, not those of the terminal, so it "
    "cannot answer in a thread. The deployment's model answers instead.",
)

TABLE = {spec.name: spec for spec in (CLAUDE_CODE, CODEX, OPENCODE, GEMINI, HERMES)}


def agent_named(name: str) -> AgentSpec:
    """The agent of that name; `acp:COMMAND` is any program that speaks ACP. Raises UsageProblem."""
    if name in TABLE:
        return TABLE[name]
    kind, colon, command = name.partition(":")
    if kind == ACP and colon and command.strip():
        return custom(ACP, _words(command))
    raise UsageProblem(f"There is no agent “{name}”. Use one of {', '.join(TABLE)}, or acp:COMMAND.")


def custom(name: str, command: tuple[str, ...]) -> AgentSpec:
    """An agent that the table does not have: a command that speaks ACP on its stdin and stdout."""
    program = Program(command[0], None, install="install it", update="")
    return AgentSpec(name=name, title=command[0].rpartition("/")[2], program=program, arguments=command[1:])


def _words(command: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(command))
    except ValueError as error:
        raise UsageProblem(f"The command in --agent acp:… cannot be read: {error}.") from error
