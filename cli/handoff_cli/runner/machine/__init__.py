"""What this machine keeps for its runner: its id, the sessions that it handed over, locks and turns at work."""
