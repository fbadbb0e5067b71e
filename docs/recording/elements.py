"""SVG elements with the fewest words; ElementTree escapes what is written into them."""

from xml.etree.ElementTree import Element, SubElement

Attribute = str | float


def add(parent: Element, tag: str, text: str | None = None, **attributes: Attribute) -> Element:
    """`class_` is `class`, and `text_anchor` is `text-anchor`; numbers are written short."""
    named = {
        name.rstrip("_").replace("_", "-"): value if isinstance(value, str) else f"{value:g}"
        for name, value in attributes.items()
    }
    element = SubElement(parent, tag, named)
    element.text = text
    return element


def add_text(parent: Element, text: str, *, x: float, y: float, width: float, class_: str | None = None) -> Element:
    """Text that is exactly so wide in every font: the reader's may be another one."""
    element = add(parent, "text", text, x=x, y=y)
    element.set("textLength", f"{width:g}")
    element.set("lengthAdjust", "spacingAndGlyphs")
    if class_:
        element.set("class", class_)
    return element
