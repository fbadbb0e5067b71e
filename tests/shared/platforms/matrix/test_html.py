"""Markdown as the HTML of a message."""

import json
import re

import pytest
from hypothesis import given

from shared.platforms.matrix import render
from shared.platforms.matrix.html import as_html
from tests.contracts.platform.rendering import quick
from tests.shared.platforms.markdown.documents import documents


@pytest.mark.parametrize(
    ("markdown", "html"),
    [
        ("a *b* **c** ~~d~~ `e<f`", "<p>a <em>b</em> <strong>c</strong> <del>d</del> <code>e&lt;f</code></p>"),
        ("# Title", "<h1>Title</h1>"),
        ("```py\nx < y\n```", '<pre><code class="language-py">x &lt; y\n</code></pre>'),
        ("- a\n- [x] b", "<ul><li>a</li><li>☑ b</li></ul>"),
        ("3. a\n4. b", '<ol start="3"><li>a</li><li>b</li></ol>'),
        ("> q", "<blockquote><p>q</p></blockquote>"),
        (
            "| a | b |\n|---|---|\n| 1 | *2* |",
            "<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td><em>2</em></td></tr></tbody></table>",
        ),
        ("[here](https://a.b/?c=1&d=2)", '<p><a href="https://a.b/?c=1&amp;d=2">here</a></p>'),
        ("![cat](https://a.b/c.png)", '<p><a href="https://a.b/c.png">cat</a></p>'),
        ("a  \nb", "<p>a<br>b</p>"),
        ("<b>bold</b> & <script>", "<p>&lt;b&gt;bold&lt;/b&gt; &amp; &lt;script&gt;</p>"),
    ],
)
def test_markdown_becomes_html(markdown: str, html: str) -> None:
    assert as_html(markdown) == html


@pytest.mark.parametrize("target", ["javascript:alert(1)", "data:text/html,x", "JAVASCRIPT:x", "file:///etc/passwd"])
def test_a_link_to_another_scheme_is_text(target: str) -> None:
    assert "<a" not in as_html(f"[click]({target})")
    assert "<a" not in as_html(f"![click]({target})")


@quick
@given(markdown=documents)
def test_html_has_only_known_tags_and_closes_them(markdown: str) -> None:
    html = as_html(render.safe(markdown))

    tags = re.findall(r"<(/?)([a-z0-9]+)", html)
    known = {"p", "em", "strong", "del", "li", "ul", "ol", "blockquote", "pre", "code", "a", "table", "thead", "tbody"}
    assert {name for _, name in tags} <= known | {"tr", "th", "td", "br", "hr", *(f"h{level}" for level in range(1, 7))}
    opened: list[str] = []
    for closing, name in tags:
        if name in ("br", "hr"):
            continue
        if not closing:
            opened.append(name)
        else:
            assert opened.pop() == name, html
    assert opened == []


def test_an_event_of_the_longest_text_fits() -> None:
    """65,536 bytes is the limit of an event; the server adds ids, hashes and signatures."""
    for letter in ("x", '"', "<", "\\", "ü", "🚀", "a*b* "):
        (text, *_) = render.pieces(letter * render.LIMIT)
        made = render.content(text, html=as_html(text), key="k" * 32)
        for content in (made, render.in_thread(made, "$" + "x" * 43), render.edited(made, "$" + "x" * 43)):
            assert len(json.dumps(content, ensure_ascii=False).encode()) < 63_000, letter
