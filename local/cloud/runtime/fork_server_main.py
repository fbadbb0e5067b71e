"""Run as `python fork_server_main.py -m awslambdaric HANDLER`: loads the function, then forks on request.

Each fork becomes one execution environment and runs awslambdaric as `python -m` would. Loading SDKs takes most of a
second of CPU time, a fork a few milliseconds; Lambda SnapStart works alike. Only the standard library is imported here,
so that functions find the same modules as on Lambda.

Stdin is a socket. Each request on it is the process group and the environment variables of a fork, as JSON, with the file
descriptor for its output; the answer is `started PID` and, when it ends, `exited PID STATUS`.
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
    _redirect_stdin()
    _, _, module, handler = sys.argv
    sys.path.insert(0, os.getcwd())  # noqa: PTH109 - a string, as `python -m` adds it
    with suppress(Exception):  # it fails again in the fork, which reports it to its Runtime API
        importlib.import_module(handler.rpartition(".")[0].replace("/", "."))
    sys.stdout.flush()  # otherwise each fork would print the buffered output again
    gc.collect()
    gc.freeze()  # garbage collection in a fork would copy the pages of what is loaded here
    _serve(control)
    sys.argv[:] = [module, handler]  # awslambdaric reads the address of its Runtime API on import, so import it here
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _serve(control: socket.socket) -> None:
    """Fork on request. Returns in each fork; ends this process when the control socket is closed."""
    wakeups, wakeup = socket.socketpair()
    wakeup.setblocking(False)  # noqa: FBT003 - signature of the standard library
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakeup.fileno())
    poll = select.poll()  # the control socket keeps its parent's number, and select() refuses those above 1023
    poll.register(control, select.POLLIN)
    poll.register(wakeups, select.POLLIN)
    while True:
        ready = {descriptor for descriptor, _ in poll.poll()}
        if wakeups.fileno() in ready:
            wakeups.recv(4096)
            _reap_children(control)
        if control.fileno() not in ready:
            continue
        request, outputs, _, _ = socket.recv_fds(control, 1 << 20, 1)
        if not request:
            os._exit(0)
        if (pid := os.fork()) == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for one in (control, wakeups, wakeup):
                one.close()
            _set_up(**json.loads(request), output=outputs[0])
            return
        os.close(outputs[0])
        control.sendall(f"started {pid}\n".encode())


def _reap_children(control: socket.socket) -> None:
    with suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            control.sendall(f"exited {pid} {os.waitstatus_to_exitcode(status)}\n".encode())


def _set_up(*, group: int, environment: dict[str, str], output: int) -> None:
    os.setpgid(0, group)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    os.environ.update(environment)


def _redirect_stdin() -> None:
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)


if __name__ == "__main__":
    main()
