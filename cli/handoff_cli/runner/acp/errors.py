"""How driving an agent fails."""


class AgentFailed(Exception):
    """The agent cannot answer. The message is a sentence for the user, in the thread and on the machine."""


class AgentGone(AgentFailed):
    """The agent's process ended although it was needed."""


class SessionBusy(AgentFailed):
    """Another process of the agent, usually its terminal, holds the session."""


class WentCold(AgentFailed):
    """A process that was open before does not answer its first prompt, and has said nothing to it: another one may."""
