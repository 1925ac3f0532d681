"""The words of a command that stand behind its redirections: the grammar takes them for parts of these."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

REDIRECTS = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})
_NESTS = frozenset({"pipeline", "list", "redirected_statement"})


def find_redirected(statement: Node) -> Node | None:
    """The command that the redirections of a statement belong to; None where that is a group or a loop."""
    target = statement.child_by_field_name("body")
    while target is not None and target.type in _NESTS:
        named = [child for child in target.children if child.is_named and child.type not in REDIRECTS]
        target = named[-1] if named else None
    return target if target is not None and target.type == "command" else None


def list_targets(redirect: Node) -> list[Node]:
    """The file that a redirection names, and the words behind it."""
    return [child for child in redirect.children if child.is_named and child.type != "file_descriptor"]


def list_words_behind(redirect: Node) -> list[Node]:
    """The words of the command that stand behind a redirection."""
    match redirect.type:
        case "file_redirect":
            return list_targets(redirect)[1:]
        case "heredoc_redirect":
            nested = (child for child in redirect.children if child.type in REDIRECTS)
            return [*redirect.children_by_field_name("argument"), *list_words_behind_all(nested)]
        case _:
            return []


def list_words_behind_all(redirects: Iterable[Node]) -> list[Node]:
    """Those of several redirections, or of other nodes, which have none."""
    return [word for redirect in redirects for word in list_words_behind(redirect)]
