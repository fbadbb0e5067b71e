"""The commands: functions `(context) -> exit code`, imported when they run."""
