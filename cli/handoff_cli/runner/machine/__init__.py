"""Files of the runner on this machine: its id, the sessions that it handed over, locks and turns at work."""
