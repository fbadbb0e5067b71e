"""The program behind `handoff deploy`, `handoff destroy` and `handoff doctor --stack`, as a process for itself."""

import sys

from local.interruptible import interruptible

if __name__ == "__main__":
    from local.operate.deploy.program import main

    sys.exit(interruptible(main, "Stopped. What AWS has begun goes on there: repeat the command, and it follows."))
