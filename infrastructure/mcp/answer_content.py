"""Blocks of content from an MCP server: each as the protocol has it, or a text that names what it is."""

from __future__ import annotations

import json
from collections.abc import Mapping

from quorum.domain.text.json_value import JsonObject, JsonValue

_LONGEST_SHOWN = 2_000


def fit_blocks(content: JsonValue) -> list[JsonObject]:
    """The blocks of a content, which may also be one block or one text."""
    if content is None:
        return []
    return [_fit_block(block) for block in (content if isinstance(content, list) else [content])]


def _fit_block(block: JsonValue) -> JsonObject:
    if not isinstance(block, Mapping):
        return _make_text(block)
    match block.get("type", "text" if "text" in block else None):
        case "text" if block.get("text") is not None:
            return _make_text(block["text"])
        case "image" | "audio" as kind if isinstance(data := block.get("data"), str):
            mime_type = block.get("mimeType")
            return {
                "type": kind,
                "data": data,
                "mimeType": mime_type if isinstance(mime_type, str) else "unknown",
            }
        case "resource_link" if isinstance(uri := block.get("uri"), str):
            name = block.get("name")
            return {"type": "resource_link", "uri": uri, "name": name if isinstance(name, str) else uri}
        case "resource" if isinstance(resource := block.get("resource"), Mapping):
            return {"type": "resource", "resource": fit_resource_content(resource)}
        case "text" | "image" | "audio" | "resource_link" | "resource" as kind:
            return _make_text(f"[{kind}, left out: it has not the fields of its type: {_show(block)}]")
        case kind:
            return _make_text(f"[a block of a type that is not known, {_show(kind)}: {_show(block)}]")


def fit_resource_content(content: JsonValue) -> JsonObject:
    """The content of a resource; one without text or data is a text that says so."""
    if not isinstance(content, Mapping):
        return {"uri": "", "text": content if isinstance(content, str) else _show(content)}
    uri, mime_type = content.get("uri"), content.get("mimeType")
    kind = {"mimeType": mime_type} if isinstance(mime_type, str) else {}
    place: JsonObject = {"uri": uri if isinstance(uri, str) else "", **kind}
    text, data = content.get("text"), content.get("blob")
    if text is None and isinstance(data, str):
        return {**place, "blob": data}
    if text is None:
        return {**place, "text": f"[it holds neither text nor data: {_show(content)}]"}
    return {**place, "text": text if isinstance(text, str) else _show(text)}


def _make_text(value: JsonValue) -> JsonObject:
    return {"type": "text", "text": value if isinstance(value, str) else _show(value)}


def _show(value: JsonValue) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
