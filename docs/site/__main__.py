"""`make site`: build the site into .site/html, strictly: a warning is a failure."""

import os
import subprocess
import sys

from docs.site.stage import ROOT, stage

DIRECTORY = ROOT / ".site"
PROGRAM = ROOT / ".venv-site" / "bin" / "zensical"


def main() -> int:
    stage(DIRECTORY)
    built = subprocess.run(  # noqa: S603  # the pinned generator
        [PROGRAM, "build", "--strict", "--clean"],
        cwd=DIRECTORY,
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    sys.stdout.write(built.stdout + built.stderr)
    is_clean = built.returncode == 0 and "Warning" not in built.stdout + built.stderr
    if is_clean:
        sys.stdout.write(f"The site is {DIRECTORY / 'html' / 'index.html'}\n")
    return 0 if is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
