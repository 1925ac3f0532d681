"""What the settings say of one custom tool."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from quorum.domain.calls.tool import ParameterType, RiskLevel

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
