"""Words of the shell as a program gets them, and why some are not known.

The grammar takes the words of a command that stand behind its redirections for parts of these; they are found
here.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from quorum.domain.text.pattern import compile_once

if TYPE_CHECKING:
    from tree_sitter import Node


_BARE = frozenset("_./,:=@%+^-#~")
# A tilde in the middle is plain (HEAD~2), but not where it would be a home folder.
_BEFORE_TILDE = r"[A-Za-z0-9^~]"
# A lone `!` behind a program is a word like any other: only in front of one it negates.
_WHOLE_WORDS = {"\\(": "(", "\\)": ")", "\\!": "!", "\\;": ";", "!": "!"}
# A mark behind a backslash stands for itself.
_ESCAPED = r"\\([*?.\[\]])"
_VARIABLE = r"\$(?:([A-Za-z_][A-Za-z0-9_]*|\?)|\{([A-Za-z_][A-Za-z0-9_]*)\})"
_EXPANSION = _VARIABLE
# What the shell makes something else of between double quotes.
_IN_QUOTES = rf"\\([\\\"$`\n])|{_VARIABLE}|([$`])"
# A value that stays one word where no quotes stand around the variable.
_ONE_WORD = r"[A-Za-z0-9_./,:=@%+-]+"
_GLOB = r"[*?]"

_UNCLEAR = {
    "command_substitution": "it runs a command inside a word",
    "process_substitution": "it runs a command inside a word",
    "simple_expansion": "it uses a variable, whose value is not known",
    "expansion": "it uses a variable, whose value is not known",
    "arithmetic_expansion": "it calculates",
    "brace_expression": "it has braces, which the shell expands",
    "ansi_c_string": "it has a $'…' string, which can hide what it says",
    "translated_string": 'it has a $"…" string, which the shell translates',
    "variable_assignment": "it sets a variable",
    "variable_assignments": "it sets variables",
    "heredoc_redirect": "it has a here-document",
    "herestring_redirect": "it has a here-string",
    "subshell": "it starts a subshell",
    "compound_statement": "it groups commands in braces",
    "function_definition": "it defines a function",
    "for_statement": "it has a loop",
    "c_style_for_statement": "it has a loop",
    "while_statement": "it has a loop",
    "if_statement": "it has a condition",
    "case_statement": "it has a condition",
    "test_command": "it has a test in brackets",
    "negated_command": "it negates a result with !",
    "declaration_command": "it declares variables",
    "unset_command": "it unsets variables",
    "comment": "it has a comment",
    "&": "it runs a command in the background",
    "|&": "it has the operator |&",
}


class Opaque(Exception):
    """The text is more than plain commands; the message says why."""


class UnclearText(Opaque):
    """The grammar may have read it otherwise than the shell would."""


def decode_word(node: Node, variables: Mapping[str, str] = MappingProxyType({})) -> str:
    """The word as a program gets it, where `variables` have these values.

    Raises Opaque where the shell would make something else of it.
    """
    match node.type:
        case "command_name" if node.child_count == 1:
            return decode_word(node.children[0])
        case "concatenation" if read_source(node) in ("{}", "-I{}"):
            return read_source(node)
        case "concatenation" if _is_seamless(node):
            return "".join(decode_word(child, variables) for child in node.children)
        case "word" | "number" | "file_descriptor" if not any(child.is_named for child in node.children):
            return _read_bare(read_source(node))
        case "==":  # an operator to the grammar wherever a word follows it
            return read_source(node)
        case "raw_string":
            return read_source(node)[1:-1]
        case "string":
            return _decode_quoted(read_source(node), variables)
        case "simple_expansion" | "expansion":
            return _read_value(node, variables)
        case _:
            raise Opaque(explain_opaque(node))


def read_glob(node: Node) -> str | None:
    """A word that the shell replaces by the names of files; None where the node is no such word.

    Raises Opaque where it is not known which names those are.
    """
    if node.type != "word" or any(child.is_named for child in node.children):
        return None
    text = read_source(node)
    if not compile_once(_GLOB).search(compile_once(_ESCAPED).sub("x", text)):
        return None
    # Versions of bash differ in whether `.*` stands for the folder above as well.
    if (
        any(name.startswith(".") and compile_once(_GLOB).search(name) for name in text.split("/"))
        or not text.isascii()
    ):
        raise Opaque("it has a glob for hidden files, or of other letters than a to z")
    _read_bare(compile_once(_GLOB).sub("x", text))
    return text


def _is_seamless(node: Node) -> bool:
    ends = [node.start_byte, *(child.end_byte for child in node.children)]
    starts = [*(child.start_byte for child in node.children), node.end_byte]
    return ends == starts


def _read_bare(text: str) -> str:
    """A word without quotes, if the shell leaves it as it is."""
    if text in _WHOLE_WORDS:
        return _WHOLE_WORDS[text]
    before = ""
    for character in compile_once(_ESCAPED).sub("x", text):
        if character == "~" and not compile_once(_BEFORE_TILDE).fullmatch(before):
            raise Opaque("it has a ~, which stands for a home folder")
        if character == "#" and not before:
            raise Opaque(_UNCLEAR["comment"])
        if character not in _BARE and not _is_letter(character):
            raise Opaque(f"it has {character} outside quotes, which the shell may expand")
        before = character
    return compile_once(_ESCAPED).sub(r"\1", text)


def _is_letter(character: str) -> bool:
    return character.isalnum() if character.isascii() else unicodedata.category(character)[0] in "LMN"


def _read_value(node: Node, variables: Mapping[str, str]) -> str:
    """The value of a variable without quotes around it, if the shell leaves it one word."""
    found = compile_once(_EXPANSION).fullmatch(read_source(node))
    value = None if found is None else variables.get(found[1] or found[2])
    if value is None or not compile_once(_ONE_WORD).fullmatch(value):
        raise Opaque(explain_opaque(node))
    return value


def _decode_quoted(text: str, variables: Mapping[str, str]) -> str:
    """What stands in double quotes, if the value of each variable in it is known."""

    def replace(found: re.Match[str]) -> str:
        escaped, name, braced, _ = found.groups()
        if escaped is not None:
            return "" if escaped == "\n" else escaped
        value = variables.get(name or braced or "")
        if value is None:
            raise Opaque("it has $ or ` in double quotes, which the shell expands")
        return value

    return compile_once(_IN_QUOTES).sub(replace, text[1:-1])


def explain_opaque(node: Node) -> str:
    """What about a node keeps it from being plain, in words for the person."""
    for part in (node, *node.children):
        if part.type in _UNCLEAR:
            return _UNCLEAR[part.type]
    return "it is more than plain words joined by && || ; |"


def describe_word(node: Node) -> str:
    """The word as a program gets it where that is known, else its text as it stands."""
    try:
        return decode_word(node)
    except Opaque:
        return read_source(node)


def uses_variable(node: Node, names: Collection[str]) -> bool:
    """Whether a word may hold the value of one of these variables."""
    found = compile_once(_EXPANSION).finditer(read_source(node))
    return any((each[1] or each[2]) in names for each in found)


def read_source(node: Node) -> str:
    """The text of a node."""
    return (node.text or b"").decode("utf-8", "replace")


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
