"""Loops over words, `for f in a b; do …; done`, as the parts from which each round can be told."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from infrastructure.execution.shell.words import Opaque, source_of

if TYPE_CHECKING:
    from tree_sitter import Node

# In capitals are variables that programs go by; the others end in these.
_VARIABLE = re.compile(r"(?!.*proxy)[a-z][a-z0-9_]{0,30}")


@dataclass(frozen=True, slots=True)
class Loop:
    """`head` are the nodes up to `in`, and `body` those behind the words, `do` and `done` among them."""

    node: Node
    variable: str
    head: Sequence[Node]
    values: Sequence[Node]
    body: Sequence[Node]


def loop_of(node: Node) -> Loop:
    """The parts of a loop over words. Raises Opaque where it is another loop."""
    children = node.children
    variable = source_of(children[1]) if len(children) > 1 else ""
    is_over_words = [child.type for child in children[:3]] == ["for", "variable_name", "in"]
    group = children[-1]
    if not is_over_words or not _VARIABLE.fullmatch(variable) or group.type != "do_group":
        raise Opaque("it has a loop")
    values = [child for child in children[3:-1] if child.type != ";"]
    behind = [child for child in children[3:-1] if child.type == ";"]
    if not values or children[3 : 3 + len(values)] != values:
        raise Opaque("it has a loop")
    return Loop(node, variable, children[:3], values, (*behind, *group.children))
