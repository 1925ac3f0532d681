"""What a server of one's own says of a model beside its answers: the window that it was loaded with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import TypeAlias
from urllib.parse import quote

from msgspec import Struct

from quorum.domain.text.json_value import JsonObject
from quorum.infrastructure.models.shared.json_fields import (
    read_count_field,
    read_object_field,
    read_objects_field,
)

Fetch: TypeAlias = Callable[[str, JsonObject | None], Awaitable[JsonObject]]
"""Reads a JSON object from a path of the server, with a body by POST; an empty one where there is none."""

_WINDOW_FIELDS = (
    "n_ctx",  # llama.cpp
    "max_model_len",  # vLLM
    "loaded_context_length",  # LM Studio
    "context_length",  # OpenRouter and others
    "context_window",
    "max_context_length",
)
_SMALLEST = 256


class ServedModel(Struct, frozen=True):
    """`window` is in tokens, None where the server does not say; `is_llama_cpp` tells whose server it is."""

    window: int | None = None
    is_llama_cpp: bool = False


async def ask_about_model(fetch: Fetch, model: str) -> ServedModel:
    """Ask a server about a model, as llama.cpp, Ollama, LM Studio and vLLM are asked."""
    props = await fetch("/props", None)
    if settings := read_object_field(props, "default_generation_settings"):
        return ServedModel(_find_window(settings), is_llama_cpp=True)
    running = await fetch("/api/ps", None)
    if isinstance(running.get("models"), list):  # Ollama: no other server is posted anything but prompts
        loaded = [
            each
            for each in read_objects_field(running, "models")
            if model in (each.get("name"), each.get("model"))
        ]
        window = _find_window(loaded[0]) if loaded else None
        return ServedModel(window or _read_ollama_window(await fetch("/api/show", {"model": model})))
    if window := _find_window(await fetch(f"/api/v0/models/{quote(model)}", None)):
        return ServedModel(window)
    return ServedModel(await find_listed_window(fetch, model))


async def find_listed_window(fetch: Fetch, model: str) -> int | None:
    """The window that the server's list of models gives, as vLLM and OpenRouter tell it."""
    listed = read_objects_field(await fetch("/v1/models", None), "data")
    entry = next((each for each in listed if each.get("id") == model), listed[0] if len(listed) == 1 else {})
    windows = [found for each in (entry, read_object_field(entry, "meta")) if (found := _find_window(each))]
    return min(windows, default=None)


def _find_window(source: JsonObject) -> int | None:
    counts = (read_count_field(source, name) for name in _WINDOW_FIELDS)
    return next((count for count in counts if count and count >= _SMALLEST), None)


def _read_ollama_window(shown: JsonObject) -> int | None:
    """The window that a model file sets; without one, Ollama loads less than the model could have."""
    parameters = shown.get("parameters")
    for name, value in _split_lines(parameters if isinstance(parameters, str) else ""):
        if name == "num_ctx" and value.isdecimal() and int(value) >= _SMALLEST:
            return int(value)
    return None


def _split_lines(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        name, _, value = line.strip().partition(" ")
        yield name, value.strip()
