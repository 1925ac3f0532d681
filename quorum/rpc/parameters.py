"""The parameters of a method: what each is called, what it may be, and what comes of what was given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from quorum.rpc.approval import TOKEN
from quorum.rpc.json_rpc import JsonParams, build_invalid_params

_CLASSES = {"string": str, "integer": int, "boolean": bool, "strings": list, "value": object}


class Param(NamedTuple):
    """One parameter. Without a `default` it has to be given; `choices` and `bounds` (both ends belong to it)
    say what fits.
    """

    name: str
    type: Literal["string", "integer", "boolean", "strings", "value"]
    does: str
    default: Any = ...
    choices: tuple[str, ...] = ()
    bounds: tuple[int, int] | None = None

    @property
    def is_required(self) -> bool:
        return self.default is ...

    def describe(self) -> dict[str, object]:
        """How a client sees it."""
        schema: dict[str, object] = {"name": self.name, "type": self.type, "does": self.does}
        schema["required"] = self.is_required
        if self.choices:
            schema["choices"] = list(self.choices)
        if self.bounds:
            schema["least"], schema["most"] = self.bounds
        return schema


TOKEN_PARAM = Param(TOKEN, "string", "the token of --listen-approve, for what takes approval", default=None)


def fit_parameters(given: JsonParams, params: Sequence[Param]) -> JsonParams:
    """A value for each parameter; the token is left aside. Raises RpcError for what does not fit."""
    known = {param.name for param in params} | {TOKEN}
    if strange := sorted(set(given) - known):
        names = ", ".join(param.name for param in params) or "none"
        raise build_invalid_params(f"there is no parameter {strange[0]!r}; there are: {names}")
    return {param.name: _read_value(param, given) for param in params if param.name != TOKEN}


def _read_value(param: Param, given: JsonParams) -> Any:
    if param.name not in given:
        if param.is_required:
            raise build_invalid_params(f"the parameter {param.name!r} is missing: {param.does}")
        return param.default
    value = given[param.name]
    fits = isinstance(value, _CLASSES[param.type]) and (param.type != "integer" or not isinstance(value, bool))
    if not fits or (param.type == "strings" and not all(isinstance(each, str) for each in value)):
        what = "an array of strings" if param.type == "strings" else f"of type {param.type}"
        raise build_invalid_params(f"{param.name!r} has to be {what}")
    if param.choices and value not in param.choices:
        raise build_invalid_params(f"{param.name!r} has to be one of {', '.join(param.choices)}")
    if param.bounds and not param.bounds[0] <= value <= param.bounds[1]:
        raise build_invalid_params(f"{param.name!r} has to be from {param.bounds[0]} to {param.bounds[1]}")
    return value
