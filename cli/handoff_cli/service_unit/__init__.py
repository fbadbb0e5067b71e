"""Programs of this machine that start with their user: a unit of systemd, or an agent of launchd."""
