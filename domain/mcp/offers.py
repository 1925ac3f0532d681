"""What an MCP server offers, and the names it is used by: tools, prompts, resources and their arguments."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from textwrap import dedent
from urllib.parse import quote, unquote

from msgspec import Struct

from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.pattern import compile_once
from quorum.domain.text.printable import make_printable

MOST_TOOLS = 128
"""How many tools of one server a model is offered."""

_LONGEST_NAME = 64
_LONGEST_DESCRIPTION = 4_000
_LARGEST_SCHEMA = 64_000
_UNFIT = r"[^A-Za-z0-9_-]"


class OfferedTool(Struct, frozen=True, kw_only=True):
    """What a server says of one of its tools. `description` is text from outside, cut where it is too long."""

    server: str
    name: str
    description: str
    input_schema: JsonObject

    @property
    def full_name(self) -> str:
        """The name for the model: `mcp__SERVER__TOOL`, with _ for each character that no name may have."""
        return render_full_name(self.server, self.name)

    @property
    def outline(self) -> str:
        """The description without the indentation that it has in the source of its server."""
        first, newline, rest = self.description.strip().partition("\n")
        return f"{first}{newline}{dedent(rest)}"

    @property
    def digest(self) -> str:
        """The SHA-256, in hexadecimal, of all that the model reads of it."""
        said = [self.name, self.description, self.input_schema]
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def render_full_name(server: str, tool: str) -> str:
    """The name under which a model calls a tool of a server."""
    return f"mcp__{server}__{compile_once(_UNFIT).sub('_', tool)}"


def make_offered_tool(server: str, name: str, description: str, input_schema: JsonObject) -> OfferedTool:
    """The tool with its description made printable and cut to 4,000 characters."""
    text = make_printable(description)
    if (left_out := len(text) - _LONGEST_DESCRIPTION) > 0:
        text = f"{text[:_LONGEST_DESCRIPTION]}\n[{left_out:,} more characters are left out]"
    return OfferedTool(server=server, name=name, description=text, input_schema=input_schema)


class Selection(Struct, frozen=True, kw_only=True):
    """The tools of one server that a model may be offered, and a sentence about each that it may not."""

    tools: tuple[OfferedTool, ...]
    problems: tuple[str, ...]


def select_tools(server: str, tools: Sequence[OfferedTool], wanted: Sequence[str] = ()) -> Selection:
    """Those with a name that a model can call, one of each name, 128 at the most, in the server's order.

    `wanted` are the only ones by the settings; empty: all. A name that the server does not have is a problem.
    """
    tools = list({(tool.name, tool.digest): tool for tool in tools}.values())  # some list one twice
    problems = [
        f"the MCP server {server} has no tool {name}, which mcp.servers.{server}.tools names"
        for name in wanted
        if name not in {tool.name for tool in tools}
    ]
    counts = Counter(tool.full_name for tool in tools)
    twins = {_spell(name): name for name, count in counts.items() if count > 1}
    kept: list[OfferedTool] = []
    for tool in tools:
        if wanted and tool.name not in wanted:
            continue
        if (
            problem := _find_problem(tool, counts[tool.full_name], twins.get(_spell(tool.full_name)))
        ) is not None:
            shown = make_printable(tool.name, newlines=False)[:80]
            problems.append(f"the tool {shown!r} of the MCP server {server} is not offered: {problem}")
        else:
            kept.append(tool)
    if len(kept) > MOST_TOOLS:
        problems.append(
            f"the MCP server {server} has {len(kept)} tools, of which the first {MOST_TOOLS} are offered; "
            f"choose others with mcp.servers.{server}.tools"
        )
    return Selection(tools=tuple(kept[:MOST_TOOLS]), problems=tuple(problems))


def find_changed_tools(tools: Iterable[OfferedTool], pinned: dict[str, str]) -> tuple[OfferedTool, ...]:
    """Those that are not what the person last accepted, by their names and digests."""
    return tuple(tool for tool in tools if pinned.get(tool.name) != tool.digest)


def _spell(name: str) -> str:
    """What names have in common that are read as one where a model spells them in another way."""
    return "".join(filter(str.isalnum, name.lower()))


def _find_problem(tool: OfferedTool, count: int, twin: str | None) -> str | None:
    """Why a tool is not offered, as so many have its name, or its name is that of those in another spelling."""
    if not tool.name:
        return "it has no name"
    if len(tool.full_name) > _LONGEST_NAME:
        return f"{tool.full_name} is longer than {_LONGEST_NAME} characters"
    if count > 1:
        return f"{count} tools of the server would be named {tool.full_name}"
    if twin is not None:
        return f"a call of {twin}, which is not offered either, could be read as one of it"
    if len(json.dumps(tool.input_schema)) > _LARGEST_SCHEMA:
        return f"the schema of its arguments is longer than {_LARGEST_SCHEMA:,} characters"
    return None


MOST_PROMPTS = 100
"""How many prompts of one server are offered."""

_OFFERED_PROMPT_LONGEST_DESCRIPTION = 300
_NAMED_WORD = r"(?s)(?P<name>[^\s=]+)=(?P<value>.*)"


class PromptParameter(Struct, frozen=True):
    """One value that a prompt takes."""

    name: str
    is_required: bool = False


class OfferedPrompt(Struct, frozen=True, kw_only=True):
    """What a server says of one of its prompts. `description` is text from outside, on one line."""

    server: str
    name: str
    description: str = ""
    parameters: tuple[PromptParameter, ...] = ()

    @property
    def command(self) -> str:
        """What is typed for it, without the slash: `mcp__SERVER__PROMPT`."""
        return f"mcp__{self.server}__{compile_once(_UNFIT).sub('_', self.name)}"[:64]

    @property
    def usage(self) -> str:
        """Its parameters as they are typed; those in brackets may be left out."""
        words = (f"{_show(each.name)}=…" for each in self.parameters)
        return " ".join(
            word if each.is_required else f"[{word}]" for word, each in zip(words, self.parameters, strict=True)
        )


def make_offered_prompt(
    server: str, name: str, description: str, parameters: tuple[PromptParameter, ...]
) -> OfferedPrompt:
    """The prompt with its description on one line of at most 300 characters."""
    text = make_printable(" ".join(description.split()), newlines=False)[:_OFFERED_PROMPT_LONGEST_DESCRIPTION]
    return OfferedPrompt(server=server, name=name, description=text, parameters=parameters)


def assign_arguments(prompt: OfferedPrompt, typed: str) -> dict[str, str]:
    """The values by the names of the parameters: words `NAME=VALUE`, and the others in their order.

    The last parameter without a name takes all words that are left. Raises ValueError, whose text is for the
    person, where a required one is missing or there are words for which there is no parameter.
    """
    try:
        words = shlex.split(typed)
    except ValueError:  # a lone quote is a character like any other
        words = typed.split()
    names = {each.name for each in prompt.parameters}
    values: dict[str, str] = {}
    plain: list[str] = []
    for word in words:
        found = compile_once(_NAMED_WORD).fullmatch(word)
        if found is not None and found["name"] in names:
            values[found["name"]] = found["value"]
        else:
            plain.append(word)
    free = [each.name for each in prompt.parameters if each.name not in values]
    for place, name in enumerate(free):
        if place < len(plain):
            is_last = place == len(free) - 1
            values[name] = " ".join(plain[place:]) if is_last else plain[place]
    if len(plain) > len(free) and not free:
        raise ValueError(f"it takes no {' '.join(plain[:3])!r}; it takes: {prompt.usage or 'nothing'}")
    missing = [each.name for each in prompt.parameters if each.is_required and not values.get(each.name)]
    if missing:
        raise ValueError(f"it needs {', '.join(map(_show, missing))}; type /{prompt.command} {prompt.usage}")
    return values


def _show(name: str) -> str:
    return make_printable(name, newlines=False)[:60]


MOST_RESOURCES = 500
"""How many resources of one server are offered for completion. Each that it has can be named."""

_LONGEST_ADDRESS = 500
_OFFERED_RESOURCE_LONGEST_DESCRIPTION = 120


class OfferedResource(Struct, frozen=True, kw_only=True):
    """`uri` is an address, or its beginning where `is_template`: the rest is for the person to type, as the
    whole `template` has it."""

    server: str
    uri: str
    description: str = ""
    is_template: bool = False
    template: str = ""

    @property
    def mention(self) -> str:
        """What stands behind the `@` of a prompt: `SERVER:URI`."""
        return f"{self.server}:{self.uri}"


def make_offered_resource(
    server: str, uri: str, description: str, *, is_template: bool = False
) -> OfferedResource | None:
    """The resource, with its description on one line; a template up to its first gap. None for an address that
    cannot be shown as it is, or is longer than 500 characters."""
    if not uri.isprintable() or len(uri) > _LONGEST_ADDRESS or "://" not in uri:
        return None
    text = make_printable(" ".join(description.split()), newlines=False)[:_OFFERED_RESOURCE_LONGEST_DESCRIPTION]
    begun = uri.partition("{")[0] if is_template else uri
    template = uri if is_template else ""
    return OfferedResource(
        server=server, uri=begun, description=text, is_template=is_template, template=template
    )


MOST_VALUES = 100
"""How many values of one argument are offered."""

_LONGEST_VALUE = 500
_GAP = r"\{(?P<reserved>\+?)(?P<name>[A-Za-z0-9_.]+)\}"
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
    gaps = list(compile_once(_GAP).finditer(resource.template))
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


class ServerState(StrEnum):
    """Where a server is in its life."""

    STARTING = "starting"
    RUNNING = "running"
    FAILED = "failed"
    NEEDS_LOGIN = "needs login"
    STOPPED = "stopped"


class ServerStatus(Struct, frozen=True, kw_only=True):
    """One server. `target` is its command line or its address, `tools` the names under which a model calls its
    tools, `problem` why it is not running, or what went wrong last; empty where nothing did."""

    name: str
    target: str
    state: ServerState
    version: str = ""
    tools: tuple[str, ...] = ()
    problem: str = ""

    @property
    def is_down(self) -> bool:
        """Whether it failed, also while it is tried once more."""
        return self.state is not ServerState.RUNNING and bool(self.problem)

    @property
    def is_awaited(self) -> bool:
        """Whether it starts for the first time: a turn waits for it."""
        return self.state is ServerState.STARTING and not self.problem
