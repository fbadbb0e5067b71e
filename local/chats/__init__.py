"""The chat platforms of a local run: simulators and relays."""
