"""The settings of custom tools, and their commands as templates whose {parameters} are filled in once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from quorum.domain.calls.tool import ParameterType, RiskLevel
from quorum.domain.errors import ConfigError, ToolError
from quorum.domain.text.json_value import JsonObject, JsonValue
from quorum.domain.text.pattern import compile_once

CustomOutputKind: TypeAlias = Literal["text", "json"]
DEFAULT_TIMEOUT_SECS = 60


class CustomParameter(Struct, frozen=True, kw_only=True):
    """One argument of a custom tool; an `array` is a list of strings.

    `allow_dash` lets its value begin with "-", where the program could take it for an option.
    """

    name: str
    type: ParameterType = "string"
    description: str = ""
    required: bool = False
    allow_dash: bool = False


class CustomToolDeclaration(Struct, frozen=True, kw_only=True):
    """One custom tool. `command` is the program and its arguments, with the parameters in braces.

    `sandbox`: it is held to what shell commands are held to; else it has our rights. `inline_bytes` and
    `summary_bytes` are those of its definition. `output` says what its standard output is.
    """

    name: str
    description: str
    command: tuple[str, ...]
    parameters: tuple[CustomParameter, ...] = ()
    risk: RiskLevel = RiskLevel.HIGH
    timeout_secs: int = DEFAULT_TIMEOUT_SECS
    sandbox: bool = False
    inline_bytes: int | None = None
    summary_bytes: int | None = None
    output: CustomOutputKind = "text"


_TOKEN = r"\{\{|\}\}|\{([A-Za-z0-9_-]+)\}|[{}]"


class _ParameterSlot(Struct, frozen=True):
    """The place of a parameter."""

    parameter: CustomParameter


_Element: TypeAlias = tuple[str | _ParameterSlot, ...]


class CommandTemplate:
    """A parsed command. Values are put in as they are: nothing expands them, neither we nor a shell."""

    def __init__(self, command: Sequence[str], parameters: Sequence[CustomParameter]) -> None:
        """Raises ConfigError, with the element's place in the command, where the two do not fit each other."""
        known = {parameter.name: parameter for parameter in parameters}
        self._elements = tuple(_parse(element, place, known) for place, element in enumerate(command))
        if not command or not command[0].strip():
            raise ConfigError("command must begin with the name of a program")
        if _find_slots(self._elements[0]):
            raise ConfigError(
                f"command[0] is {command[0]}, but a call may not choose the program: name one, without braces"
            )
        used = {slot.parameter.name for element in self._elements for slot in _find_slots(element)}
        if unused := [name for name in known if name not in used]:
            raise ConfigError(
                f"parameters.{unused[0]} is not used: put {{{unused[0]}}} into command or remove the parameter"
            )

    def fill_words(self, arguments: JsonObject) -> tuple[str, ...]:
        """The words of the command for these arguments, which fit the tool's schema.

        A parameter that is an element by itself gives no word where it is missing and several where it is an
        array; one inside an element gives the empty string where it is missing. Raises ToolError for a value
        that would begin a word with "-" and may not, and for what no program can be given.
        """
        return tuple(word for element in self._elements for word in _fill_words(element, arguments))


def _parse(element: str, place: int, known: dict[str, CustomParameter]) -> _Element:
    parts: list[str | _ParameterSlot] = []
    end = 0
    for token in compile_once(_TOKEN).finditer(element):
        parts.append(element[end : token.start()])
        end = token.end()
        if (name := token[1]) is not None:
            if name not in known:
                raise ConfigError(f"command[{place}] names {{{name}}}, {_explain_unknown_parameter(known)}")
            parts.append(_ParameterSlot(known[name]))
        elif len(token[0]) == 2:
            parts.append(token[0][0])
        else:
            raise ConfigError(
                f"command[{place}] has a {token[0]} that belongs to no {{parameter}}: write {2 * token[0]} for "
                "the character itself"
            )
    parts.append(element[end:])
    parsed = tuple(part for part in parts if part)
    for slot in _find_slots(parsed):
        if slot.parameter.type == "array" and len(parsed) > 1:
            raise ConfigError(
                f"command[{place}] has text around {{{slot.parameter.name}}}, which is an array: make it an "
                "element of its own"
            )
    return parsed


def _explain_unknown_parameter(known: dict[str, CustomParameter]) -> str:
    return f"which is none of its parameters ({', '.join(known) or 'it has none'}): declare it or correct it"


def _find_slots(element: _Element) -> list[_ParameterSlot]:
    return [part for part in element if isinstance(part, _ParameterSlot)]


def _fill_words(element: _Element, arguments: JsonObject) -> Iterator[str]:
    match element:
        case (_ParameterSlot(parameter),):
            value = arguments.get(parameter.name)
            values = value if isinstance(value, Sequence) and not isinstance(value, str) else (value,)
            yield from (
                _check_word_start(_format_text(each, parameter), parameter)
                for each in values
                if each is not None
            )
        case _:
            yield _join(element, arguments)


def _join(element: _Element, arguments: JsonObject) -> str:
    word = ""
    for part in element:
        if isinstance(part, str):
            word += part
        elif (value := arguments.get(part.parameter.name)) is not None:
            text = _format_text(value, part.parameter)
            word += text if word else _check_word_start(text, part.parameter)
    return word


def _format_text(value: JsonValue, parameter: CustomParameter) -> str:
    if parameter.type == "integer" and isinstance(value, float):
        value = int(value)  # 7.0 is an integer to a JSON schema
    text = value if isinstance(value, str) else json.dumps(value)
    if "\0" in text:
        raise ToolError(
            f"{parameter.name} contains a NUL character, which no program can be given: leave it out"
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ToolError(
            f"{parameter.name} is not valid Unicode at character {error.start}: leave that out"
        ) from error
    return text


def _check_word_start(text: str, parameter: CustomParameter) -> str:
    """The text that begins a word, unless a program could take it for an option."""
    if text.startswith("-") and not parameter.allow_dash:
        raise ToolError(
            f'{parameter.name} may not begin with "-", since the program could take it for an option; '
            "a file of such a name can be given as ./NAME"
        )
    return text
