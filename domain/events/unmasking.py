"""Makes a recorded packet whole again from secrets that are known here, as its digest proves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, product

from quorum.domain.calls.packet import ReviewPacket
from quorum.domain.events.masking import MaskedPacket
from quorum.domain.replacing import replace
from quorum.domain.secrets.patterns import MASK, render_mask
from quorum.domain.text.json_value import JsonObject, JsonValue

_MOST_TRIES = 500
"""Each of them is a digest of the packet."""


def restore_packet(packet: MaskedPacket, list_values: Callable[[str], Sequence[str]]) -> ReviewPacket | None:
    """The packet with everything that is hidden in it in its place; None where that is not known.

    `list_values` gives what a name may stand for. A name stands for the same text everywhere: one that is in
    the packet both as it is and encoded, as in an address, is not found.
    """
    words = list(dict.fromkeys(_list_words(packet.to_json())))
    for values in islice(product(*map(list_values, words)), _MOST_TRIES):
        behind = {render_mask(word): value for word, value in zip(words, values, strict=True)}
        restored = _fill_in(packet, behind)
        if restored.digest == packet.digest:
            return restored
    return None


def _list_words(value: JsonValue) -> Iterator[str]:
    match value:
        case str():
            yield from (found[0][len("[secret:") : -1] for found in MASK.finditer(value))
        case Mapping():
            for key, item in value.items():
                yield from _list_words(key)
                yield from _list_words(item)
        case list() | tuple():
            for item in value:
                yield from _list_words(item)


def _fill_in(packet: ReviewPacket, behind: Mapping[str, str]) -> ReviewPacket:
    def fill(text: str) -> str:
        return MASK.sub(lambda found: behind.get(found[0], found[0]), text)

    def fill_json(value: JsonValue) -> JsonValue:
        match value:
            case str():
                return fill(value)
            case Mapping():
                return fill_object(value)
            case list() | tuple():
                return [fill_json(item) for item in value]
            case _:
                return value

    def fill_object(value: JsonObject) -> JsonObject:
        return {fill(key): fill_json(item) for key, item in value.items()}

    def fill_optional(text: str | None) -> str | None:
        return None if text is None else fill(text)

    seal = packet.seal
    return ReviewPacket(
        call=replace(packet.call, arguments=fill_object(packet.call.arguments)),
        context=packet.context,
        seal=replace(
            seal,
            cwd=fill(seal.cwd),
            files=tuple(replace(file, path=fill(file.path)) for file in seal.files),
            folders=tuple(map(fill, seal.folders)),
            diff=fill_optional(seal.diff),
            executables=tuple(map(fill, seal.executables)),
            environment={fill(name): fill_optional(value) for name, value in seal.environment.items()},
            unsealed=fill_optional(seal.unsealed),
            sandbox=fill_optional(seal.sandbox),
        ),
        asked_by=fill(packet.asked_by),
    )
