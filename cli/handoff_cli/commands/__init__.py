"""One module per command, each with `run(context) -> exit code`; imported only when it is the one."""
