"""Which argument of a prompt or of a resource template of an MCP server is being typed."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from urllib.parse import quote, unquote

from msgspec import Struct

from quorum.domain.mcp.offered_prompt import OfferedPrompt
from quorum.domain.mcp.offered_resource import OfferedResource

MOST_VALUES = 100
"""How many values of one argument are offered."""

_LONGEST_VALUE = 500
_GAP = re.compile(r"\{(?P<reserved>\+?)(?P<name>[A-Za-z0-9_.]+)\}")
_RESERVED = ":/?#[]@!$&'()*+,;="


class ArgumentQuery(Struct, frozen=True, kw_only=True):
    """What a server is asked: the values of `argument` that go with what is typed of it, `value`.

    It is an argument of the `prompt` of this name, or of a resource `template`; the other of the two is empty.
    `others` are the arguments typed already.
    """

    server: str
    argument: str
    value: str
    prompt: str = ""
    template: str = ""
    others: tuple[tuple[str, str], ...] = ()


class TypedArgument(Struct, frozen=True, kw_only=True):
    """The argument that is being typed. A value takes the place of `typed`, between `before` and `after`.

    `is_quoted` as a word of the command line; otherwise as a part of an address, in which all but `kept`
    characters are escaped.
    """

    query: ArgumentQuery
    typed: str
    before: str = ""
    after: str = ""
    is_quoted: bool = True
    kept: str = ""

    def insert(self, value: str) -> str:
        """What stands in the place of what was typed once this value is chosen."""
        if not self.is_quoted:
            return f"{self.before}{quote(value, safe=self.kept)}{self.after}"
        is_plain = "\\" not in value and _split_words(value) == [_Word(0, value)]
        return f"{self.before}{value if is_plain else shlex.quote(value)}{self.after}"


class _Word(Struct, frozen=True):
    start: int
    text: str


def find_prompt_argument(prompt: OfferedPrompt, typed: str) -> TypedArgument | None:
    """The argument that the last word of `typed` belongs to, as `assign_arguments` reads them; None where the
    prompt takes no more."""
    *earlier, last = _split_words(typed)
    names = [each.name for each in prompt.parameters]
    others: dict[str, str] = {}
    plain: list[str] = []
    for word in earlier:
        name, sign, value = word.text.partition("=")
        if sign and name in names:
            others[name] = value
        else:
            plain.append(word.text)
    name, sign, value = last.text.partition("=")
    before = f"{name}=" if sign and name in names else ""
    free = [each for each in names if each not in others and not (before and each == name)]
    others |= dict(zip(free, plain, strict=False))
    if not before:
        if len(plain) >= len(free):
            return None  # the words of the last one, or more than it takes
        name, value = free[len(plain)], last.text
    return TypedArgument(
        query=ArgumentQuery(
            server=prompt.server,
            prompt=prompt.name,
            argument=name,
            value=value,
            others=tuple(sorted(others.items())),
        ),
        typed=typed[last.start :],
        before=before,
        after=" ",
    )


def find_template_argument(resources: Sequence[OfferedResource], typed: str) -> TypedArgument | None:
    """The gap of a template that a mention has reached, typed as `SERVER:URI`; None where it is no address of a
    template. Gaps with operators other than `+` are left to the person."""
    for each in resources:
        server, _, address = typed.partition(":")
        if each.is_template and server == each.server and (found := _match_template(each, address)) is not None:
            return found
    return None


def choose_values(values: Sequence[str]) -> tuple[str, ...]:
    """The values that can be offered: at most 100, each printable as it is, of 1 to 500 characters."""
    fit = (value for value in values if value and value.isprintable() and len(value) <= _LONGEST_VALUE)
    return tuple(dict.fromkeys(fit))[:MOST_VALUES]


def _match_template(resource: OfferedResource, address: str) -> TypedArgument | None:
    rest, others = address, list[tuple[str, str]]()
    at = 0
    gaps = list(_GAP.finditer(resource.template))
    for place, gap in enumerate(gaps):
        literal = resource.template[at : gap.start()]
        if "{" in literal or not rest.startswith(literal):
            return None
        rest = rest[len(literal) :]
        end = gaps[place + 1].start() if place + 1 < len(gaps) else len(resource.template)
        following = resource.template[gap.end() : end].partition("{")[0]
        value, found, _ = rest.partition(following) if following else (rest, "", "")
        if not found:
            kept = _RESERVED if gap["reserved"] else ""
            query = ArgumentQuery(
                server=resource.server,
                template=resource.template,
                argument=gap["name"],
                value=unquote(value),
                others=tuple(others),
            )
            return TypedArgument(query=query, typed=value, after=following, is_quoted=False, kept=kept)
        others.append((gap["name"], unquote(value)))
        rest, at = rest[len(value) :], gap.end()
    return None


def _split_words(typed: str) -> list[_Word]:
    """The words with where they begin, without their quotes. The last one is being typed: it may be empty."""
    words: list[_Word] = []
    start, text, mark = -1, "", ""
    for place, letter in enumerate(typed):
        if mark:
            mark, text = ("", text) if letter == mark else (mark, text + letter)
        elif letter.isspace():
            if start >= 0:
                words.append(_Word(start, text))
            start, text = -1, ""
        else:
            start = place if start < 0 else start
            mark, text = (letter, text) if letter in "'\"" else ("", text + letter)
    return [*words, _Word(start if start >= 0 else len(typed), text)]
