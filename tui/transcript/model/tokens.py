"""Reads Markdown into the tokens that are drawn; nothing in them acts or hides, and links name targets."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

from quorum.domain.text.printable import make_printable

DONE = "done"
"""What says in the meta data of an item that it is a task: whether it is done."""

_BOX = re.compile(r"\[([ xX])\]\s+(?=\S|$)")


@cache
def make_parser() -> MarkdownIt:
    """Reads Markdown without raw HTML."""
    return MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])


def parse_tokens(markup: str) -> list[Token]:
    """What a text consists of. Characters that entities decode to are made safe again."""
    tokens = make_parser().parse(markup)
    _find_tasks(tokens)
    return list(_make_safe(tokens))


def _find_tasks(tokens: list[Token]) -> None:
    """Mark the items that begin with a check box, and take the box out of their text."""
    for item, paragraph, inline in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if item.type != "list_item_open" or paragraph.type != "paragraph_open" or not inline.children:
            continue
        first = inline.children[0]
        if first.type == "text" and (box := _BOX.match(first.content)):
            item.meta[DONE] = box[1] != " "
            first.content = first.content[box.end() :]


def _make_safe(tokens: Iterable[Token]) -> Iterable[Token]:
    """The tokens with safe texts (entities may decode to any character), and links with their targets shown."""
    target = said = ""
    for token in tokens:
        token.content = make_printable(token.content)
        for name in ("href", "src"):
            if name in token.attrs:
                token.attrs[name] = make_printable(str(token.attrs[name]), newlines=False)
        if token.children:
            token.children = list(_make_safe(token.children))
        yield token
        if token.type == "link_open":
            target, said = str(token.attrs.get("href", "")), ""
        elif token.type == "link_close":
            if said != target.removeprefix("mailto:"):
                yield from _show_target(target)
        else:
            said += token.content


def _show_target(target: str) -> Iterable[Token]:
    before, shown, after = (Token("text", "", 0, content=text) for text in (" (", target, ")"))
    opened = Token("link_open", "a", 1, attrs={"href": target})
    return (before, opened, shown, Token("link_close", "a", -1), after)
