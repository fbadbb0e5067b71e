"""Generates Markdown as agents write it, and checks results with an independent parser."""

from hypothesis import strategies as st
from markdown_it import MarkdownIt

_PARSER = MarkdownIt("commonmark", {"html": False}).enable("table")

words = st.sampled_from(
    [
        "a",
        "word",
        "naïve",
        "e\u0301",
        "日本語。",
        "👩‍👩‍👧‍👦",
        "👍🏽",
        "🇩🇪",
        "*",
        "**bold**",
        "`code`",
        "end.",
        "Really?",
        "x" * 90,
        "1.",
        "#",
        ">",
    ]
)
prose = st.lists(words, min_size=1, max_size=60).map(" ".join)
paragraphs = prose.map(lambda text: "So " + text)
code_lines = st.lists(
    st.sampled_from(
        [
            "x = 1",
            "    return 1",
            "",
            "# heading",
            "| a | b |",
            "```",
            "```py",
            "~~~",
            "`tick`",
            "- item",
            "y" * 120,
            "z " * 80,
        ]
    ),
    min_size=1,
    max_size=40,
)


@st.composite
def code_blocks(draw: st.DrawFn, margin: str = "", first: str | None = None) -> str:
    """A code block with a longer run than any in its lines, each line behind `margin`."""
    run = draw(st.sampled_from(["````", "~~~~", "`````", "~~~~~~"]))
    info = draw(st.sampled_from(["", "python", "md", "js title=x"]))
    lines = [margin + line for line in draw(code_lines)]
    return "\n".join([(margin if first is None else first) + run + info, *lines, margin + run])


@st.composite
def tables(draw: st.DrawFn) -> str:
    rows = draw(st.integers(1, 60))
    return "\n".join(["| left | right |", "| --- | ---: |", *(f"| row {n} | {n * n} |" for n in range(rows))])


lists = st.lists(prose, min_size=1, max_size=20).map(lambda items: "\n".join(f"- So {item}" for item in items))
blocks = st.one_of(
    paragraphs,
    lists,
    code_blocks(),
    code_blocks(margin="> "),
    code_blocks(margin="   ", first="1. "),
    code_blocks(margin="      ", first="10.   "),
    tables(),
    st.just("# A heading"),
)
documents = st.lists(blocks, min_size=1, max_size=8).map("\n\n".join)

fragments = st.sampled_from(
    [
        "```",
        "~~~",
        "````",
        "```py",
        "`",
        "``",
        " ",
        "\n",
        "\n\n",
        "> ",
        "- ",
        "    ",
        "word",
        "|",
        "---",
        "\t",
        "\r\n",
        "end. ",
        "x" * 300,
    ]
)
rubbish = st.lists(fragments, max_size=120).map("".join)


def leaves_code_open(markdown: str) -> bool:
    """Whether words after the text would be read as code."""
    tokens = _PARSER.parse(f"{markdown}\n\nafterwards")
    return not any(token.type == "inline" and token.content == "afterwards" for token in tokens)


def code_in(markdown: str) -> str:
    """The code blocks of the text, without white space, which a cut inside a list may change."""
    return "".join("".join(token.content.split()) for token in _PARSER.parse(markdown) if token.type == "fence")
