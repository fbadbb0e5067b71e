"""A service on one machine runs without AWS: neither boto3 nor moto is imported, not even by a whole handoff."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = """
import pathlib, sys, time
import httpx
from local.server.directory import DataDirectory
from local.server.service import Address, Server

with Server(DataDirectory(pathlib.Path(sys.argv[1])), {}, Address(port=0, page_port=0)) as server:
    http = httpx.Client(base_url=server.url, headers={"Authorization": "Bearer " + server.tokens["owner"]})
    http.put("/sessions/s", json={})
    handoff = http.post("/handoffs", json={"session_id": "s", "platform": "telegram", "epoch": 0}).json()
    for _ in range(1000):
        state = http.get("/handoffs/" + handoff["id"]).json()["state"]
        if state == "completed":
            break
        time.sleep(0.02)
    print(state)
print(*sorted({"boto3", "botocore", "moto", "mangum", "awslambdaric", "samtranslator"} & set(sys.modules)))
"""


def test_a_handoff_needs_nothing_of_aws(tmp_path: Path) -> None:
    program = [sys.executable, "-c", SCRIPT, str(tmp_path / "data")]

    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=True, timeout=90)

    assert done.stdout.splitlines() == ["completed", ""]
