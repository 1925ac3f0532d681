"""The JSON schema that the final answer of a run has to fit, as the person gives it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from quorum.domain.errors import ConfigError
from quorum.domain.text.json_value import JsonObject, JsonValue

if TYPE_CHECKING:
    from jsonschema.protocols import Validator
    from referencing import Resource
    from referencing._core import Resolver

_FENCE = re.compile(r"```(?:json)?[ \t]*\n(.*)\n```", re.DOTALL | re.IGNORECASE)
_LONGEST_PROBLEM = 500
_INSTRUCTION = (
    "The final answer to the next prompt is read by a program. Use your tools as usual; then answer with one "
    "JSON value that fits this JSON Schema, and with nothing else, no fence and no words around it:\n{schema}"
)


class AnswerSchema:
    """Tells the model of the schema, and checks answers by it, as the draft that it names means it. What the
    schema refers to is never fetched."""

    def __init__(self, schema: JsonObject, where: str) -> None:
        """Raises ConfigError for what is no JSON schema, with the place."""
        from jsonschema import Draft202012Validator
        from jsonschema.exceptions import SchemaError
        from jsonschema.validators import validator_for
        from referencing import Registry
        from referencing.jsonschema import specification_with

        validator: type[Validator] = Draft202012Validator
        if (draft := schema.get("$schema")) is not None:
            named = draft.rstrip("#") if isinstance(draft, str) else ""
            validator = validator_for({"$schema": named}, default=Draft202012Validator)
            if validator.META_SCHEMA["$schema"].rstrip("#") != named:
                raise ConfigError(f"{where} names no known draft of JSON Schema: $.$schema: {draft!a}")
        try:
            validator.check_schema(dict(schema))
            specification = specification_with(validator.META_SCHEMA["$schema"])
            whole: Resource[JsonValue] = specification.create_resource(schema)
            lost = _find_lost_reference(whole, Registry[JsonValue]().resolver_with_root(whole))
        except SchemaError as error:
            raise ConfigError(f"{where} is no JSON schema: {error.json_path}: {error.message}") from error
        except RecursionError as error:
            raise ConfigError(f"{where} is no JSON schema: it is nested too deeply") from error
        if lost:
            raise ConfigError(f"{where} refers to {lost}, which is not in it: put it under $defs")
        self._validator: Validator = validator(dict(schema), registry=Registry())
        self.instruction = _INSTRUCTION.format(schema=json.dumps(schema, ensure_ascii=False))

    @staticmethod
    def read(given: str, folder: Path) -> AnswerSchema:
        """The schema that the text is, if it begins with a brace, or else that of the file of this name. Raises
        ConfigError."""
        if not given.strip():
            raise ConfigError("--json-schema is empty: give it a JSON schema, or the name of a file with one")
        is_text = given.lstrip().startswith("{")
        where = "the schema of --json-schema" if is_text else given
        try:
            text = given if is_text else (folder / given).read_text(encoding="utf-8")
            schema: object = json.loads(text, parse_constant=_refuse_constant)
        except OSError as error:
            raise ConfigError(f"{given} cannot be read: {error.strerror or error}") from error
        except UnicodeDecodeError as error:
            raise ConfigError(f"{given} is no text in UTF-8") from error
        except json.JSONDecodeError as error:
            raise ConfigError(
                f"{where} is no JSON: line {error.lineno}, column {error.colno}: {error.msg}"
            ) from error
        except RecursionError as error:
            raise ConfigError(f"{where} is nested too deeply") from error
        except ValueError as error:  # as for a number of thousands of digits
            raise ConfigError(f"{where} is no JSON: {error}") from error
        if not isinstance(schema, Mapping):
            raise ConfigError(f"{where} is no JSON schema: it is no object")
        return AnswerSchema(schema, where)

    def find_problem(self, answer: str) -> str:
        """Where and how an answer does not fit; empty where it does."""
        try:
            value = parse_answer(answer)
        except ValueError as error:
            return str(error)[:_LONGEST_PROBLEM]
        try:
            found = next(iter(self._validator.iter_errors(value)), None)
        except Exception as failure:  # noqa: BLE001 - a reference that leads back to itself, in the library's own types
            return f"the schema cannot be used: {failure}"[:_LONGEST_PROBLEM]
        return "" if found is None else f"{found.json_path}: {found.message}"[:_LONGEST_PROBLEM]


def _find_lost_reference(part: Resource[JsonValue], resolver: Resolver[JsonValue]) -> str:
    """The first reference that leads nowhere; empty where each leads to something."""
    from referencing.exceptions import Unresolvable

    if isinstance(part.contents, Mapping):
        for keyword in ("$ref", "$dynamicRef"):
            if isinstance(reference := part.contents.get(keyword), str):
                try:
                    resolver.lookup(reference)
                except Unresolvable:
                    return reference
    lost = (_find_lost_reference(below, resolver.in_subresource(below)) for below in part.subresources())
    return next(filter(None, lost), "")


def parse_answer(answer: str) -> JsonValue:
    """The value that an answer is, also inside a fence. Raises ValueError with the place."""
    text = answer.strip()
    if fenced := _FENCE.fullmatch(text):
        text = fenced[1]
    try:
        value: JsonValue = json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise ValueError(f"no JSON: line {error.lineno}, column {error.colno}: {error.msg}") from error
    except RecursionError as error:
        raise ValueError("no JSON: it is nested too deeply") from error
    except ValueError as error:
        raise ValueError(f"no JSON: {error}") from error
    return value


def _refuse_constant(name: str) -> JsonValue:
    raise ValueError(f"{name} is no value of JSON")
