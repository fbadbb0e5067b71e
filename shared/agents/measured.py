"""An agent with measurements."""

from shared.errors import AgentCancelled, AgentError
from shared.ports.agents import Agent, TurnInput
from shared.ports.clock import Clock
from shared.ports.metrics import Metric, Metrics


class MeasuredAgent:
    """Notes how long the agent takes, and how often it fails or is cancelled."""

    def __init__(self, agent: Agent, clock: Clock, metrics: Metrics) -> None:
        self._agent = agent
        self._clock = clock
        self._metrics = metrics

    def reply(self, turn: TurnInput) -> str:
        began = self._clock.now()
        try:
            reply = self._agent.reply(turn)
        except AgentCancelled:
            self._metrics.put((Metric.TURNS_CANCELLED, 1))
            raise
        except AgentError as error:
            self._metrics.put((Metric.TURNS_FAILED, 1), reason=type(error).__name__)
            raise
        self._metrics.put((Metric.AGENT_SECONDS, (self._clock.now() - began) / 1000))
        return reply
