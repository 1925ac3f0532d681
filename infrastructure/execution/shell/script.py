"""Shell texts as scripts for guards, by the grammar of tree-sitter: any construct is walked through."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct, field

from quorum.domain.replacing import replace
from quorum.domain.shell.command_line import Redirect
from quorum.domain.shell.script import Script, ScriptCommand, call_functions, split_coarsely
from quorum.domain.text.pattern import compile_once
from quorum.infrastructure.execution.shell.parsing import parse_tree
from quorum.infrastructure.execution.shell.words import (
    REDIRECTS,
    find_redirected,
    list_targets,
    list_words_behind,
    read_source,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_BYTES = 65_536
_LOOPS = frozenset({"for_statement", "while_statement", "c_style_for_statement"})
_ALWAYS_HOLDS = r"true|:|!\s*false|\(\(\s*[1-9]\d*\s*\)\)|\[\[?\s*(1|true)\s*\]\]?"
_NEVER_HOLDS = r"false|!\s*(true|:)|\(\(\s*0\s*\)\)"
_SUBSTITUTIONS = frozenset({"command_substitution", "process_substitution"})
_ESCAPED_IN_QUOTES = r"\\([\\\"$`])|\\\n"
_ESCAPED = r"(?s)\\(?:\n|(.))"
_ANSI = r"(?s)\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|([0-7]{1,3})|(.))"
_ANSI_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}


@lru_cache(maxsize=64)
def read_script(text: str) -> Script:
    """Every command of a text. What has no grammar, or is longer than 64 kB, is split coarsely, and says so."""
    if len(text) > _MAX_BYTES:
        return replace(
            split_coarsely(text[:_MAX_BYTES]),
            problem=f"it holds {len(text):,} characters, too many to be looked through",
        )
    root = parse_tree(text.encode("utf-8", "replace").decode())
    script = call_functions(_Walk().read(root))
    if not root.has_error:
        return script
    guessed = split_coarsely(text)
    return Script((*script.commands, *guessed.commands), "it is not complete, or not bash")


class _NodePlace(Struct, frozen=True):
    """Where a node stands: what comes in, what it is part of, and whether it may run many times."""

    reads: tuple[int, ...] = ()
    writes: int | None = None
    in_loop: bool = False
    function: str = ""
    is_endless: bool = False


class _Redirected(Struct):
    """What redirections give a command. `words` are arguments that stand behind them, `end` is their end."""

    words: list[str] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)
    text: str | None = None
    reads: list[int] = field(default_factory=list)
    writes: int | None = None
    end: int = 0


class _Walk:
    """One walk over a tree. It does not recurse: a chain of commands is nested as deeply as it is long."""

    def __init__(self) -> None:
        self._streams = 0
        self._found: list[tuple[int, ScriptCommand]] = []
        self._redirected: dict[int, _Redirected] = {}

    def read(self, root: Node) -> Script:
        waiting: list[tuple[Node, _NodePlace]] = [(root, _NodePlace())]
        while waiting:
            node, place = waiting.pop()
            waiting += self._visit(node, place)
        # The end of what stands inside, or in front of a pipe, comes before the end of what reads it.
        self._found.sort(key=lambda found: found[0])
        return Script(tuple(command for _, command in self._found))

    def _visit(self, node: Node, place: _NodePlace) -> Iterator[tuple[Node, _NodePlace]]:
        if node.type in _LOOPS:
            place = replace(place, in_loop=True, is_endless=place.is_endless or _is_endless(node))
        match node.type:
            case "function_definition":
                name = node.child_by_field_name("name")
                inside = replace(place, function="" if name is None else read_source(name))
                yield from ((child, inside) for child in node.children)
            case "pipeline":
                yield from self._walk_stages(node, place)
            case "redirected_statement":
                yield from self._redirect_statement(node, place)
            case "command" | "declaration_command" | "unset_command":
                yield from self._walk_command(node, place)
            case "variable_assignment":
                yield from self._assign(node, place)
            case "for_statement":
                yield from self._walk_loop(node, place)
            case "file_redirect":  # alone, as in $(< file)
                given = _Redirected()
                yield from self._redirect(node, given, place)
                alone = ScriptCommand((), tuple(given.redirects), writes=place.writes)
                self._found.append((node.end_byte, alone))
            case "command_substitution" | "process_substitution":
                inner = replace(place, reads=())
                yield from ((child, inner) for child in node.children)
            case _:
                yield from ((child, place) for child in node.children)

    def _number_next_stream(self) -> int:
        self._streams += 1
        return self._streams

    def _walk_stages(self, node: Node, place: _NodePlace) -> Iterator[tuple[Node, _NodePlace]]:
        stages = [child for child in node.children if child.is_named]
        reads = place.reads
        for stage in stages:
            is_last = stage == stages[-1]
            stream = place.writes if is_last else self._number_next_stream()
            yield stage, replace(place, reads=reads, writes=stream)
            if stream is not None:
                reads = (stream,)

    def _redirect_statement(self, node: Node, place: _NodePlace) -> Iterator[tuple[Node, _NodePlace]]:
        given = _Redirected(end=node.end_byte)
        body = node.child_by_field_name("body")
        for child in node.children:
            if child.type in REDIRECTS:
                yield from self._redirect(child, given, place)
            elif child != body:
                yield child, place
        if (target := find_redirected(node)) is not None:
            self._redirected[target.id] = given
        else:
            put_in = ScriptCommand((), tuple(given.redirects), text=given.text, writes=place.writes)
            self._found.append((node.end_byte, put_in))
        if body is not None:
            # A loop or a group reads what is put into it.
            reads = place.reads if target == body and body.type == "command" else (*place.reads, *given.reads)
            writes = place.writes if given.writes is None else given.writes
            yield body, replace(place, reads=reads, writes=writes)

    def _redirect(self, node: Node, given: _Redirected, place: _NodePlace) -> Iterator[tuple[Node, _NodePlace]]:
        inner = replace(place, reads=())
        match node.type:
            case "file_redirect":
                operator = next((read_source(part) for part in node.children if not part.is_named), "")
                named = list_targets(node)
                given.redirects.append(Redirect(operator, _read_word(named[0]) if named else ""))
                given.words += map(_read_word, list_words_behind(node))
                yield from self._find_substitutions(node, given.reads, inner)
            case "herestring_redirect":
                given.text = "".join(_read_word(part) for part in node.children if part.is_named)
                yield from self._find_substitutions(node, given.reads, inner)
            case _:
                arguments = node.children_by_field_name("argument")
                given.words += map(_read_word, arguments)
                for child in arguments:
                    yield from self._find_substitutions(child, given.reads, inner)
                for child in node.children:
                    if child.type == "heredoc_body":
                        given.text = read_source(child)
                        yield from self._find_substitutions(child, given.reads, inner)
                    elif child.type == "pipeline":
                        given.writes = self._number_next_stream()
                        yield child, replace(place, reads=(given.writes,))
                    elif child.type in REDIRECTS:
                        yield from self._redirect(child, given, place)
                    elif child.is_named and child.type not in ("heredoc_start", "heredoc_end"):
                        yield child, place

    def _find_substitutions(
        self, node: Node, reads: list[int], place: _NodePlace
    ) -> Iterator[tuple[Node, _NodePlace]]:
        """The substitutions anywhere in words, each with a stream of its own that is added to `reads`."""
        waiting = [node]
        while waiting:
            each = waiting.pop()
            if each.type in _SUBSTITUTIONS:
                stream = self._number_next_stream()
                reads.append(stream)
                yield each, replace(place, reads=(), writes=stream)
            else:
                waiting += each.children

    def _walk_command(self, node: Node, place: _NodePlace) -> Iterator[tuple[Node, _NodePlace]]:
        given = self._redirected.get(node.id, _Redirected())
        reads = [*place.reads, *given.reads]
        redirects, text = list(given.redirects), given.text
        words: list[str] = []
        assignments: list[str] = []
        for child in node.children:
            if child.type in REDIRECTS:
                own = _Redirected()
                yield from self._redirect(child, own, place)
                redirects, text = [*redirects, *own.redirects], own.text if own.text is not None else text
                reads += own.reads
                words += own.words
                continue
            kind = child.type
            if kind == "word":  # the usual one, which holds none
                words.append(_read_word(child))
                continue
            if child.named_child_count or kind in _SUBSTITUTIONS:
                yield from self._find_substitutions(child, reads, replace(place, reads=()))
            if kind == "variable_assignment":
                assignments.append(_read_word(child))
            else:
                words.append(_read_word(child))
        words += given.words
        command = ScriptCommand(
            tuple(words),
            tuple(redirects),
            tuple(assignments),
            text,
            tuple(reads),
            place.writes if given.writes is None else given.writes,
            place.in_loop,
            place.function,
            place.is_endless,
        )
        end = given.end if given.reads else 0
        self._found.append((max(node.end_byte, end), command))

    def _assign(self, node: Node, place: _NodePlace) -> Iterator[tuple[Node, _NodePlace]]:
        reads: list[int] = []
        yield from self._find_substitutions(node, reads, replace(place, reads=()))
        command = ScriptCommand((), assignments=(_read_word(node),), reads=tuple(reads), in_loop=place.in_loop)
        self._found.append((node.end_byte, command))

    def _walk_loop(self, node: Node, place: _NodePlace) -> Iterator[tuple[Node, _NodePlace]]:
        """A loop over words: its variable is set from them."""
        reads: list[int] = []
        name, values, end = "", list[str](), node.start_byte
        for child in node.children:
            if child.type == "variable_name":
                name = read_source(child)
            elif child.type == "do_group":
                yield child, place
            else:
                yield from self._find_substitutions(child, reads, replace(place, reads=()))
                if child.is_named:
                    values.append(_read_word(child))
                    end = child.end_byte
        assigned = tuple(f"{name}={value}" for value in values)
        self._found.append((end, ScriptCommand((), assignments=assigned, reads=tuple(reads), in_loop=True)))


def _is_endless(loop: Node) -> bool:
    """Whether the condition of a loop is one that always holds."""
    if loop.type == "for_statement":
        return False
    condition = loop.child_by_field_name("condition")
    if loop.type == "c_style_for_statement":
        return condition is None
    text = "" if condition is None else read_source(condition)
    wanted = _NEVER_HOLDS if read_source(loop).startswith("until") else _ALWAYS_HOLDS
    return compile_once(wanted).fullmatch(text.rstrip("; \n")) is not None


def _read_word(node: Node) -> str:
    """A word without its quotes; expansions stay as written."""
    match node.type:
        case "raw_string":
            return read_source(node)[1:-1]
        case "string":
            return compile_once(_ESCAPED_IN_QUOTES).sub(lambda found: found[1] or "", read_source(node)[1:-1])
        case "ansi_c_string":
            return compile_once(_ANSI).sub(_decode_ansi, read_source(node)[2:-1])
        case "word":
            text = read_source(node)
            return compile_once(_ESCAPED).sub(lambda found: found[1] or "", text) if "\\" in text else text
        case "concatenation" | "command_name" if node.children:
            return "".join(map(_read_word, node.children))
        case "variable_assignment":
            return "".join(map(_read_word, node.children))
        case _:
            return read_source(node)


def _decode_ansi(found: re.Match[str]) -> str:
    hexadecimal, unicode, octal, letter = found.groups()
    if hexadecimal or unicode:
        return chr(int(hexadecimal or unicode, 16))
    if octal:
        return chr(int(octal, 8) & 0xFF)
    return _ANSI_LETTERS.get(letter, letter)
