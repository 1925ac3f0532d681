"""What the person would have to ask for, in their own words, for an objection to a task to be taken back.

Of a program or tool that nobody knows each word that may name a target counts as one: which of them are kinds,
places or options nothing tells.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from quorum.domain.review.hazards.invocation import Invocation
from quorum.domain.review.plain_request import Effect, RequestTerms
from quorum.domain.text.json_value import JsonValue

_FLAG = re.compile(r"--?[a-z]{1,3}|--[\w-]+")
_ALL = re.compile(r"--all(-.*)?|--every.*|-A")
_ATTACHED = re.compile(r"-\w=?(.+)")
_MOST_NAMES = 8
_WRAPPERS = frozenset({"npx", "pnpx", "bunx", "uvx"})
_RUNNERS = ("run", "run-script", "exec")
_OF_DATABASE = re.compile(r"db|database|migrat(?:e|ion|ions)|schema")
_BACK = {Effect.GO_BACK: "db|databases?|migrat(?:ions?|e)|schema"}
_SYNONYMS = {"db": "database", "database": "db", "md": "metadata"}
_FORMATS = frozenset({"json", "yaml", "text", "table", "true", "yes"})


def ask_for_task(
    run: Invocation, task: str, before: Sequence[str], behind: Sequence[str], effect: Effect
) -> RequestTerms | None:
    """The terms of a task that a program is told by `task`, between the words `before` and `behind` it."""
    before = [word for word in before if not _OF_DATABASE.fullmatch(word)]
    kind = _join_words(before[-1:])
    names = frozenset((*before[:-1], *_list_targets(behind)))
    if run.in_loop or not _WRAPPERS.issuperset(run.wrappers) or "-" in behind or len(names) > _MOST_NAMES:
        return None
    words = (run.program, *run.arguments)
    shorter = words[2:] if words[1:2] and words[1] in _RUNNERS else words
    return RequestTerms(
        effect=effect,
        names=names,
        nouns=kind or ("" if names else _join_parts(task) or _BACK.get(effect, "")),
        calls=frozenset({" ".join(words), " ".join(shorter)}),
        needs_all=True,
        is_exact=False,
    )


def ask_for_tool(
    name: str, verbs: Iterable[str], values: Iterable[JsonValue], effect: Effect
) -> RequestTerms | None:
    """The terms of a tool: what its name says beside the verbs, and each value that it is given."""
    names = frozenset(_list_names(values))
    if len(names) > _MOST_NAMES:
        return None
    parts = [*re.findall(r"[A-Z]?[a-z]+\d*|[A-Z]+(?![a-z])", name)]
    kinds = [part.lower() for part in parts if part.lower() not in verbs]
    is_file = bool(names) and not {"file", "path", "directory", "folder"}.isdisjoint(kinds)
    kinds = [each for each in kinds if each not in ("by", "of", "id", "the", "a", "all", "many", "bulk")]
    if "all" in map(str.lower, parts):
        names |= {"all"}
    return RequestTerms(
        effect=effect,
        names=names,
        nouns="" if is_file else _join_words(kinds),
        needs_all=True,
        is_exact=False,
    )


def _list_targets(words: Sequence[str]) -> Iterator[str]:
    """The words that may name what a task is about, or where: also values of options."""
    for word in words:
        if _ALL.fullmatch(word):
            yield "all"
        elif "=" in word:
            yield word.partition("=")[2]
        elif not word.startswith("-"):
            if word not in _FORMATS:
                yield word
        elif not _FLAG.fullmatch(word) and (value := _ATTACHED.fullmatch(word)):
            yield value[1]


def _list_names(values: Iterable[JsonValue]) -> Iterator[str]:
    waiting = [*values]
    while waiting:
        match waiting.pop():
            case bool() | None | "":
                continue
            case dict(fields):
                waiting += fields.values()
            case list(items):
                waiting += items
            case value:
                yield str(value)


def _join_parts(task: str) -> str:
    """What the word of a task says beside what is done: the last of its other parts is its object."""
    return _join_words(re.split(r"[:._-]", task)[:-1][-1:] or re.split(r"[:._-]", task)[1:2])


def _join_words(words: Iterable[str]) -> str:
    found = [form for word in words if word for form in (word, _SYNONYMS.get(word, word))]
    return "|".join(f"{re.escape(form.removesuffix('s'))}(?:s|es)?" for form in dict.fromkeys(found))
