"""The prompt of `handoff chat`: talk with the agent here, move the session away, bring it back."""
