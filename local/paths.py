"""Where the files of this tree are."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEMPLATE = ROOT / "template.yaml"
TRANSLATED = ROOT / ".build" / "translated"  # the template as CloudFormation, cached by content
