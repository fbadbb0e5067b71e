"""Write what makes an agent call `handoff hook` into its settings, and take it out again."""
