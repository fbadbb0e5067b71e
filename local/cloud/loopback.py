"""Checks the Host header of local servers."""

LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})


def is_loopback(host: str) -> bool:
    """Whether a Host header names this machine.

    A web page whose domain resolves to 127.0.0.1 (DNS rebinding) can reach local ports, but sends its own domain here.
    """
    name, _, port = host.rpartition(":")
    return host in LOOPBACK or (name in LOOPBACK and port.isdigit())
