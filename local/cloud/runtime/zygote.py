"""Started in a function's interpreter as `python zygote.py -m awslambdaric HANDLER`: loads the function, then forks.

Each fork becomes one execution environment and runs awslambdaric as `python -m` would. Loading SDKs takes the better
part of a second of a core, a fork a few milliseconds; Lambda's own snapshots do the same. Only the standard library is
imported here, and nothing of this project: functions see the same world as on Lambda.

Stdin is a socket. Each request on it is the process group and the environment variables of a fork, as JSON, with the file
descriptor that takes its output; the answer is `born PID` and, some time later, `gone PID STATUS`.
"""

import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import sys
from contextlib import suppress


def main() -> None:
    control = socket.socket(fileno=os.dup(0))
    _point_stdin_at_nothing()
    _, _, module, handler = sys.argv
    sys.path.insert(0, os.getcwd())  # noqa: PTH109 - as a string, as `-m` does
    with suppress(Exception):  # it fails again in the fork, which has a Runtime API to say so
        importlib.import_module(handler.rpartition(".")[0].replace("/", "."))
    sys.stdout.flush()  # or each fork would say again what loading said
    gc.collect()
    gc.freeze()  # a collector that touches what was loaded here would copy it into every fork
    _fork_as_asked(control)
    sys.argv[:] = [module, handler]  # which is loaded only now: it keeps the address of its Runtime API for good
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _fork_as_asked(control: socket.socket) -> None:
    """Returns in each fork; ends this process when nobody is left to ask."""
    ends, bell = socket.socketpair()
    bell.setblocking(False)  # noqa: FBT003 - the standard library's
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(bell.fileno())
    while True:
        ready, _, _ = select.select([control, ends], [], [])
        if ends in ready:
            ends.recv(4096)
            _tell_the_dead(control)
        if control not in ready:
            continue
        request, outputs, _, _ = socket.recv_fds(control, 1 << 20, 1)
        if not request:
            os._exit(0)
        if (pid := os.fork()) == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for one in (control, ends, bell):
                one.close()
            _become(**json.loads(request), output=outputs[0])
            return
        os.close(outputs[0])
        control.sendall(f"born {pid}\n".encode())


def _tell_the_dead(control: socket.socket) -> None:
    with suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            control.sendall(f"gone {pid} {os.waitstatus_to_exitcode(status)}\n".encode())


def _become(*, group: int, environment: dict[str, str], output: int) -> None:
    os.setpgid(0, group)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    os.environ.update(environment)


def _point_stdin_at_nothing() -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)


if __name__ == "__main__":
    main()
