"""Guards: static looks at a call that can object and do nothing else. They need no model and cast no vote.

An objection means that the call is at least asked about, in every mode. What a guard does not see is not
thereby harmless: guards catch mistakes, the sandbox and the person are the boundary.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from posixpath import join, normpath

from msgspec import Struct

from quorum.domain.calls.access import Access
from quorum.domain.replacing import replace
from quorum.domain.review.objection import Objection, describe_write_outside
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.review.plain_request import NO_REQUEST, Effect, PlainRequest, RequestTerms
from quorum.domain.secrets.patterns import MASK
from quorum.domain.shell.script import ReadScript, Script
from quorum.domain.text.json_value import JsonObject, JsonValue

DEFAULT_MAX_BYTES = 100_000
DEFAULT_MAX_LINES = 1_000


class GuardSettings(Struct, frozen=True, kw_only=True):
    """Which guards look, and how closely. `commands` are further beginnings of commands to object to."""

    path: bool = True
    destructive: bool = True
    size: bool = True
    secret: bool = True
    network: bool = True
    persistence: bool = True
    commands: tuple[str, ...] = ()
    max_bytes: int = DEFAULT_MAX_BYTES
    max_lines: int = DEFAULT_MAX_LINES

    def is_on(self, guard: str) -> bool:
        """Whether the guard of this name looks; one that is not known does."""
        match guard:
            case "path":
                return self.path
            case "destructive":
                return self.destructive
            case "size":
                return self.size
            case "secret":
                return self.secret
            case "network":
                return self.network
            case "persistence":
                return self.persistence
            case _:
                return True


def find_objections(
    arguments: JsonObject,
    access: Access,
    command: str | None,
    *,
    paths: PathPolicy,
    settings: GuardSettings,
    read_script: ReadScript,
    request: PlainRequest = NO_REQUEST,
    tool: str = "",
    diff: str | None = None,
    own_files: Collection[str] = (),
) -> tuple[Objection, ...]:
    """What the guards have against a call of a tool. `command` is the shell text it would run, if it runs any,
    and `diff` what it changes in files, if that is known. `own_files` hold what the session itself put there.

    Takes milliseconds for usual commands, and tenths of a second for one of 64 kB.
    """
    found: list[Objection] = []
    if settings.path:
        outside = sorted(path for path in access.writes if path.startswith("/") and not paths.is_inside(path))
        found += [Objection("path", describe_write_outside(path)) for path in outside]
    if settings.path and command is not None:
        own = (path for path in paths.own if path in command)
        found += [Objection("path", f"it names {path}, which is quorum's own") for path in own]
    if command is not None:
        working_dir = arguments.get("working_dir")
        folder = working_dir if isinstance(working_dir, str) else ""
        seen = _judge_command(command, paths, settings, read_script, folder)
        found += [objection for objection in seen if settings.is_on(objection.guard)]
        if own_files:
            place = join(next(iter(paths.roots), "/"), folder)
            found = [each for each in found if not _is_about_own_files(each.request, own_files, place)]
    if command is None and (access.exclusive or access.writes):
        from quorum.domain.review.effects.tool_calls import (
            list_objections,
            list_shell_texts,
            list_statements,
            reduce_arguments,
            reduce_tool_call,
        )
        from quorum.domain.review.hazards.database import list_deleted_data, list_reached_data

        seen = (*list_objections(reduce_tool_call(tool, arguments, read_script, diff)),)
        if access.exclusive:
            seen += tuple(list_objections(reduce_arguments(tool, arguments, read_script)))
            statements = list_statements(tool, arguments)
            seen += tuple(list_deleted_data(statements, is_read_by_driver=True))
            seen += tuple(list_reached_data(statements))
            for text in list_shell_texts(tool, arguments):
                seen += _judge_command(text, paths, settings, read_script)
        found += [objection for objection in dict.fromkeys(seen) if settings.is_on(objection.guard)]
    if settings.network and command is None and access.exclusive:
        found += [Objection("network", reason, _SHOWN) for reason in _find_publishing(arguments)]
    if settings.size:
        found += [Objection("size", reason) for reason in _check_size(arguments, settings)]
    if settings.secret and (access.writes or access.exclusive or command is not None):
        found += [Objection("secret", reason) for reason in _find_stand_ins(arguments)]
    return tuple(
        replace(each, asked=request.judge(each.request)) if each.request is not None else each for each in found
    )


def _is_about_own_files(terms: RequestTerms | None, own_files: Collection[str], folder: str) -> bool:
    """Whether all that would be lost is what the session itself put there. What only a selection finds may be
    more than that."""
    return (
        terms is not None
        and terms.effect in (Effect.DELETE, Effect.EMPTY)
        and terms.are_files
        and terms.is_exact
        and not terms.is_fed
        and bool(terms.names)
        and all(_locate(folder, name) in own_files for name in terms.names)
    )


def _locate(folder: str, name: str) -> str:
    """The file of this name, or "" where that depends on links: the folder above one is not where it stands."""
    path = join(folder, name)
    return "" if ".." in path.split("/") else normpath(path)


def _judge_command(
    command: str, paths: PathPolicy, settings: GuardSettings, read_script: ReadScript, folder: str = ""
) -> tuple[Objection, ...]:
    from quorum.domain.review.effects.reduction import reduce_command
    from quorum.domain.review.effects.tool_calls import join_objections
    from quorum.domain.review.hazards.inspection import inspect_command  # its tables take 10 ms to compile
    from quorum.domain.review.hazards.request_terms import is_straight

    known: dict[str, Script] = {}

    def read_once(text: str) -> Script:  # both look at the same texts
        script = known.get(text)
        if script is None:
            script = known[text] = read_script(text)
        return script

    seen = inspect_command(command, read_script=read_once, paths=paths, more=settings.commands)
    effects = reduce_command(command, read_once, paths.roots, judges_files=True, folder=folder)
    if any(each.request is not None for each in effects) and not is_straight(read_once(command)):
        effects = tuple(replace(each, request=None) for each in effects)
    return join_objections(seen, effects)


# ---------------------------------------------------------------- size


def _check_size(arguments: JsonObject, settings: GuardSettings) -> Iterator[str]:
    texts = _list_texts(arguments)
    letters = sum(map(len, texts))
    if 4 * letters <= settings.max_bytes and letters <= settings.max_lines:  # a letter takes four bytes at most
        return
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
    lines = sum(text.count("\n") for text in texts)
    if size > settings.max_bytes:
        yield f"its arguments hold {size:,} bytes, more than {settings.max_bytes:,}"
    elif lines > settings.max_lines:
        yield f"its arguments hold {lines:,} lines, more than {settings.max_lines:,}"


def _list_texts(value: JsonValue, *, names: bool = False) -> list[str]:
    if isinstance(value, dict):
        plain = [each for each in value.values() if isinstance(each, str)]
        if len(plain) == len(value):
            return [*plain, *value] if names else plain
    texts: list[str] = []
    waiting: list[JsonValue] = [value]
    for each in waiting:  # which grows
        match each:
            case str(text):
                texts.append(text)
            case dict(fields):
                waiting += fields.values()
                if names:
                    waiting += fields
            case list(items):
                waiting += items
            case _:
                continue
    return texts


# ---------------------------------------------------------------- things made public

_SHOWN = RequestTerms(effect=Effect.PUBLISH, names=frozenset({"public"}))
_PUBLISHING: Mapping[str, frozenset[JsonValue]] = {
    "visibility": frozenset({"public", "world", "internet"}),
    "acl": frozenset({"public", "public-read", "public-read-write"}),
    "access": frozenset({"public", "anyone"}),
    "public": frozenset({True, "true"}),
    "is_public": frozenset({True, "true"}),
    "private": frozenset({False, "false"}),
}


def _find_publishing(arguments: JsonObject) -> Iterator[str]:
    """Yield an objection to an argument by which a tool shows something to everybody."""
    for name, value in arguments.items():
        if isinstance(value, str | bool) and value in _PUBLISHING.get(name.casefold(), ()):
            yield f"it shows something to everybody: {name} is {str(value).lower()}"


# ---------------------------------------------------------------- secrets that are not there


def _find_stand_ins(arguments: JsonObject) -> Iterator[str]:
    """Yield an objection to stand-ins of masked values: a model may take them for the values themselves."""
    texts = [text for text in _list_texts(arguments, names=True) if "[secret:" in text]
    if words := sorted({word for text in texts for word in MASK.findall(text)}):
        more = f" and {len(words) - 1} more" if len(words) > 1 else ""
        yield (
            f"it holds {words[0]}{more}: such a word stands in a record where a secret was, and the call would "
            "use the word itself"
        )
