"""TLS on loopback with a certificate that no authority signed."""

import ssl
import subprocess
from pathlib import Path


def self_signed(folder: Path) -> Path:
    """A file with key and certificate for 127.0.0.1; the certificate alone is beside it, as `.crt`."""
    path = folder / "self-signed.pem"
    make = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1"
    files = ["-keyout", str(path), "-out", str(path.with_suffix(".crt"))]
    subprocess.run([*make.split(), *files], check=True, capture_output=True)
    path.write_text(path.read_text() + path.with_suffix(".crt").read_text())
    return path


def server_context(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context
