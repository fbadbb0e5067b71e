"""Code outside a platform's folders never names the platform, but for the two lists."""

import io
import sys
import tokenize
from pathlib import Path

from shared.platforms import PLATFORMS

ROOT = Path(__file__).resolve().parents[3]
NAMES = [spec.name for spec in PLATFORMS if spec.is_supported]
FOLDERS = [ROOT / side / name for name in NAMES for side in ("shared/platforms", "local/chats")]
LISTS = [ROOT / "shared/platforms/__init__.py", ROOT / "local/chats/__init__.py"]
SECRET_FORMATS = ROOT / "cli/handoff_cli/transcripts/likely_secrets.py"
QR_CODE = ROOT / "cli/handoff_cli/ui/qr_code.py"  # a library's word for its rows


def named_in(source: str) -> list[str]:
    """Names and strings of code that contain a platform's name. A string with a space is a text for people.

    A platform may be named as a module of the standard library (`signal`): then only strings that are its name count.
    """
    tokens = [token for token in tokenize.generate_tokens(io.StringIO(source).readline) if " " not in token.string]
    strings = [token.string for token in tokens if token.type == tokenize.STRING]
    names = [token.string for token in tokens if token.type == tokenize.NAME]
    distinct = [name for name in NAMES if name not in sys.stdlib_module_names]
    found = [text for text in (*strings, *names) if any(name in text.lower() for name in distinct)]
    return found + [text for text in strings if text.strip("\"'") in set(NAMES) - set(distinct)]


def test_code_outside_its_folders_does_not_name_a_platform() -> None:
    files = [file for side in ("shared", "functions", "local", "cli") for file in (ROOT / side).rglob("*.py")]
    elsewhere = [file for file in files if not any(file.is_relative_to(folder) for folder in FOLDERS)]
    found = {
        str(file.relative_to(ROOT)): named
        for file in elsewhere
        if file not in (*LISTS, SECRET_FORMATS, QR_CODE) and (named := named_in(file.read_text()))
    }

    assert len(elsewhere) > 100
    assert found == {}


def test_the_template_does_not_name_a_platform() -> None:
    lines = (ROOT / "template.yaml").read_text().splitlines()
    settings = [line for line in lines if ":" in line.strip().split(" ")[0] and not line.strip().startswith("#")]

    assert not [line for line in settings if any(name in line.lower() for name in NAMES)]


def test_a_name_in_code_is_found() -> None:
    assert named_in('if platform == "slack":\n    telegram_url = 1\n') == ['"slack"', "telegram_url"]
    assert named_in('import signal\nsignal.signal(signal.SIGTERM, "x_signal")\n') == []
    assert named_in('"""As Telegram counts."""\n# slack\n') == []
