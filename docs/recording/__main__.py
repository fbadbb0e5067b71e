"""`make recording`: play a handoff on a real service and draw it as docs/handoff.svg."""

import socket
import sys
from pathlib import Path

from docs.recording.draw import draw
from docs.recording.film import film
from docs.recording.play import play

PICTURE = Path(__file__).resolve().parent.parent / "handoff.svg"


def main() -> int:
    played = play()
    picture = draw(film(played))
    if any(secret in picture for secret in (*played.private, socket.gethostname())):
        raise ValueError("details of this machine are in the picture; nothing was written")
    PICTURE.write_text(picture, "utf-8")
    sys.stdout.write(f"{PICTURE.name}: {len(picture.encode()) // 1024} KB.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
