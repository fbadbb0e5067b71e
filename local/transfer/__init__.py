"""`handoff data export` and `handoff data import`: the file, and the commands for any pair of tables."""
