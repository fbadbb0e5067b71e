"""The translated template is cached."""

from pathlib import Path

from local.cloud import template

TEXT = """
Transform: AWS::Serverless-2016-10-31
Resources:
  Queue:
    Type: AWS::SQS::Queue
"""


def test_a_translation_is_cached_by_its_input(tmp_path: Path) -> None:
    first = template.translate(TEXT, "us-east-1", cache=tmp_path)
    assert template.translate(TEXT, "us-east-1", cache=tmp_path) == first
    assert len(list(tmp_path.iterdir())) == 1
    changed = template.translate(TEXT.replace("Queue:", "Other:"), "us-east-1", cache=tmp_path)
    assert set(changed["Resources"]) == {"Other"}
    template.translate(TEXT, "eu-central-1", cache=tmp_path)
    assert len(list(tmp_path.iterdir())) == 3
