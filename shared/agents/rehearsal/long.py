"""A long answer with what is hard to split and render: tables, nested code blocks, emoji, lists, mentions."""

_LENGTH = 20_000

_SECTION = """\
## Part {number}: everything at once 🧪

A paragraph with **bold**, *italic*, ~~struck~~, `inline code`, a [link](https://example.com/part/{number}?a=1&b=2), some
<angle brackets>, an @everyone that must wake nobody, and a family 👨‍👩‍👧‍👦 beside a flag 🇪🇺 and a thumb 👍🏽.

| step {number} | what it does | cost |
| --- | :---: | ---: |
| claim | the first one wins 🥇 | {number}.00 |
| open a thread | `a | b` stays one cell? | {number}.50 |
| confirm | with *every* message | {number}.75 |

1. First, a list
   - with a nested point, and one more with code:

     ```python
     def part_{number}(text: str) -> str:
         return f"{{text!r}} <&> \\"{number}\\""
     ```
2. Second, a fence that holds another:

````markdown
Section {number} shows how to fence:

```bash
echo "part {number}" | tee out.txt
```
````

> A quotation, in two lines,
> which ends part {number}.

"""


def _long_answer() -> str:
    sections = ["# A long rehearsal\n\n"]
    while sum(map(len, sections)) < _LENGTH - 1_000:
        sections.append(_SECTION.format(number=len(sections)))
    missing = _LENGTH - sum(map(len, sections)) - len(_END)
    filler = ("All of this is filler up to a round length. " * (missing // 40 + 1))[: missing - 1]
    return "".join(sections) + filler + "\n" + _END


_END = "\nEnd of the long rehearsal. 🏁"
LONG_ANSWER = _long_answer()
