"""An MCP server of another agent, as the settings of quorum can have it: without any secret in plain."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field

from quorum.domain.importing.foreign_rules import TranslatedRule, list_server_tools, name_server
from quorum.domain.importing.foreign_session import TakeoverItem, TakeoverKind
from quorum.domain.review.permission_rules import Answer
from quorum.domain.secrets.patterns import find_pattern_spans
from quorum.domain.settings import is_web_address
from quorum.infrastructure.config.program_tables import SERVER_NAME
from quorum.infrastructure.config.toml_text import escape_unprintable, hide_credentials, shorten_text

_NAME = re.compile(SERVER_NAME)
_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_VARIABLE = re.compile(r"\$\{?(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}?|\{env:([A-Za-z_][A-Za-z0-9_]*)\}")
# A name with a value behind it: an option, a variable that is set, a header, a part of a query.
_NAMED = re.compile(r"(?:^|[?&;\s])-{0,2}([A-Za-z][A-Za-z0-9_.-]*)(?:\s*[=:]\s*)(?=[^\s/])")
_OPTION = re.compile(r"--?([A-Za-z][A-Za-z0-9_-]*)")
_TELLING = re.compile(
    r"(?i)key|token|secret|passw|pwd|passphrase|auth|credential|bearer|cookie|(?:^|[_-])pat(?:$|[_-])"
)


class GivenServer(Struct, frozen=True, kw_only=True):
    """A server as another agent has it. `environment` and `headers` are with their values, `bearer_variable`
    names that of a token. `only` are the tools that it may offer, `without` those that it may not. `flaw` is
    what quorum cannot have of it."""

    name: str
    place: str
    command: Sequence[str] = ()
    url: str = ""
    environment: Mapping[str, object] = field(default_factory=dict)
    headers: Mapping[str, object] = field(default_factory=dict)
    bearer_variable: str = ""
    passed: Sequence[str] = ()
    only: Sequence[str] = ()
    without: Sequence[str] = ()
    is_enabled: bool = True
    flaw: str = ""


class _Unfit(Exception):
    """What quorum cannot have of the server, as a clause."""


def find_server(given: GivenServer, present: Mapping[str, object]) -> Iterator[TakeoverItem]:
    """The server, and what of its tools is denied. `present` are the servers there are, by their names."""
    name = name_server(given.name)
    if given.without:
        rules = tuple(rule for tool in given.without for rule in list_server_tools(given.name, tool))
        listed = shorten_text(", ".join(map(escape_unprintable, given.without)), 80)
        yield TakeoverItem(
            kind=TakeoverKind.RULE,
            there=f"deny tools of {escape_unprintable(given.name)}: {listed}",
            place=given.place,
            here=", ".join(f"deny {rule}" for rule in rules),
            rule=TranslatedRule(answer=Answer.DENY, rules=rules),
        )
    target = hide_credentials(given.url.partition("?")[0]) or " ".join(given.command[:1])
    there = shorten_text(escape_unprintable(f"{given.name}: {target}"), 80)
    try:
        if not _NAME.match(name):
            raise _Unfit("its name holds no letter or digit")
        values, notes = _translate(given, name)
    except _Unfit as unfit:
        yield TakeoverItem(
            kind=TakeoverKind.SERVER, there=there, place=given.place, why=f"not taken over: {unfit}"
        )
        return
    if name in present:
        is_same = present[name] == values
        why = "" if is_same else f"not taken over: there is a server {name} here already"
        here = "here already" if is_same else ""
        yield TakeoverItem(kind=TakeoverKind.SERVER, there=there, place=given.place, here=here, why=why)
        return
    here, why = f"[mcp.servers.{name}]", "; ".join(notes)
    yield TakeoverItem(
        kind=TakeoverKind.SERVER, there=there, place=given.place, here=here, why=why, server={name: values}
    )


def _translate(given: GivenServer, name: str) -> tuple[dict[str, object], list[str]]:
    if given.flaw:
        raise _Unfit(given.flaw)
    notes: list[str] = []
    values: dict[str, object] = {}
    if given.url:
        values["url"] = _check_address(given.url)
        if token := _find_token(given, name, notes):
            values["bearer_token_env"] = token
        if given.environment or given.passed:
            raise _Unfit("it has an address and variables")
    else:
        values["command"] = _check_command(given.command)
        if given.headers or given.bearer_variable:
            raise _Unfit("it has a program and headers")
        passed = [*given.passed, *_name_variables(given.environment, notes)]
        if passed:
            values["pass_env"] = list(dict.fromkeys(passed))
    if given.only:
        values["tools"] = list(given.only)
    if not given.is_enabled:
        values["enabled"] = False
    return values, notes


def _check_command(command: Sequence[str]) -> list[str]:
    if not command or not all(isinstance(word, str) for word in command) or not command[0]:
        raise _Unfit("it has neither a program nor an address that quorum can use")
    for place, word in enumerate(command):
        if _VARIABLE.search(word):
            raise _Unfit("its command names a variable; write out what is meant, or pass it by pass_env")
        option = _OPTION.fullmatch(word)
        following = command[place + 1] if place + 1 < len(command) else "-"
        is_told = option is not None and _TELLING.search(option[1]) and not following.startswith("-")
        if is_told or _may_hold_secret(word):
            raise _Unfit(
                "its command seems to hold a secret; have the program read it from a variable: pass_env"
            )
    return list(command)


def _may_hold_secret(word: str) -> bool:
    return (
        hide_credentials(word) != word
        or bool(find_pattern_spans(word))
        or any(_TELLING.search(name) for name in _NAMED.findall(word))
    )


def _check_address(url: str) -> str:
    if not is_web_address(url):
        raise _Unfit("its address does not begin with http:// or https://")
    if _VARIABLE.search(url):
        raise _Unfit("its address names a variable; write out what is meant")
    if _may_hold_secret(url):
        raise _Unfit("its address seems to hold a secret; use bearer_token_env")
    return url


def _find_token(given: GivenServer, name: str, notes: list[str]) -> str:
    """The variable of the bearer token; empty where there is none."""
    token = given.bearer_variable
    if token and not _VARIABLE_NAME.fullmatch(token):
        raise _Unfit("the variable of its token has no name that a variable can have")
    for header, value in given.headers.items():
        text = value if isinstance(value, str) else ""
        if header.lower() != "authorization" or not text.lower().startswith("bearer "):
            raise _Unfit(
                f"it sends the header {escape_unprintable(header)[:60]}; quorum sends a bearer token alone"
            )
        found = _VARIABLE.fullmatch(text[len("bearer ") :].strip())
        token = (found[1] or found[2]) if found is not None else f"{name.replace('-', '_').upper()}_TOKEN"
        if found is None:
            notes.append(f"its token is not copied: set {token} in your environment")
    return token


def _name_variables(environment: Mapping[str, object], notes: list[str]) -> Iterator[str]:
    unset: list[str] = []
    for name, value in environment.items():
        if not _VARIABLE_NAME.fullmatch(name):
            raise _Unfit("a variable of it has no name that a variable can have")
        found = _VARIABLE.fullmatch(value) if isinstance(value, str) else None
        if found is None or name not in found.groups():
            unset.append(name)
        yield name
    if unset:
        notes.append(f"values of variables are not copied: set {', '.join(unset)} in your environment")


def read_texts(value: object) -> list[str]:
    """The texts in a list; nothing of what is none."""
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
