"""The prompt of `handoff chat`: talk with the agent, move the session, bring it back."""
