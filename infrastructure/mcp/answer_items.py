"""Entries of the lists of an MCP server, with the fields that are used; or why one cannot be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from quorum.domain.text.json_value import JsonObject, JsonValue

_NO_OBJECT = "it is no object"
_NO_NAME = "it has no name"


def fit_tool(item: JsonValue) -> JsonObject | str:
    """A tool. One without a schema takes any arguments."""
    if not isinstance(item, Mapping):
        return _NO_OBJECT
    if not isinstance(item.get("name"), str):
        return _NO_NAME
    schema = item.get("inputSchema")
    if schema is not None and not isinstance(schema, Mapping):
        return "the schema of its arguments is no object"
    arguments = fit_arguments(schema or {})
    if arguments is None:
        return 'the schema of its arguments: its type is not "object"'
    described = _choose_text(item, ("description", "title"))
    return {"name": item["name"], **({"description": described} if described else {}), "inputSchema": arguments}


def fit_arguments(schema: JsonObject) -> JsonObject | None:
    """The schema of arguments with the outline that the protocol asks for; None where it is of no object."""
    kind = schema.get("type")
    if kind is not None and kind != "object" and not (isinstance(kind, list) and "object" in kind):
        return None
    fitted = {key: value for key, value in schema.items() if key not in ("properties", "required", "$schema")}
    fitted["type"] = "object"
    properties, required, dialect = (schema.get(key) for key in ("properties", "required", "$schema"))
    if isinstance(dialect, str):
        fitted["$schema"] = dialect
    if isinstance(properties, Mapping):
        fitted["properties"] = {
            key: value if isinstance(value, Mapping | bool) else {} for key, value in properties.items()
        }
    if isinstance(required, list):
        fitted["required"] = [name for name in required if isinstance(name, str)]
    return fitted


def fit_prompt(item: JsonValue) -> JsonObject | str:
    """A prompt; an argument without a name is left out."""
    if not isinstance(item, Mapping):
        return _NO_OBJECT
    if not isinstance(item.get("name"), str):
        return _NO_NAME
    arguments = item.get("arguments")
    parameters = [
        {"name": each["name"], "required": each.get("required") in (True, "true")}
        for each in (arguments if isinstance(arguments, list) else ())
        if isinstance(each, Mapping) and isinstance(each.get("name"), str)
    ]
    return {**_select_texts(item, ("name", "description", "title")), "arguments": parameters}


def fit_resource(item: JsonValue) -> JsonObject | str:
    """A resource; without a name it is called by its address."""
    return _fit_addressed(item, "uri")


def fit_template(item: JsonValue) -> JsonObject | str:
    """A template of resources; without a name it is called by its address."""
    return _fit_addressed(item, "uriTemplate")


def _fit_addressed(item: JsonValue, key: str) -> JsonObject | str:
    if not isinstance(item, Mapping):
        return _NO_OBJECT
    if not isinstance(item.get(key), str):
        return "it has no address"
    return {"name": item[key], **_select_texts(item, (key, "name", "description", "mimeType"))}


def _select_texts(item: JsonObject, keys: Sequence[str]) -> dict[str, JsonValue]:
    return {key: value for key in keys if isinstance(value := item.get(key), str)}


def _choose_text(item: JsonObject, keys: Sequence[str]) -> str:
    return next((value for key in keys if isinstance(value := item.get(key), str) and value), "")
