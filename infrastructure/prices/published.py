"""The prices that vendors publish: a dated file that comes with the program."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from functools import cache
from importlib import resources

import msgspec
from msgspec import Struct

from quorum.domain.conversation.cost import LongPrompt, Price
from quorum.domain.errors import ConfigError
from quorum.domain.text.late_pattern import compile_late

_FILE = "prices.toml"
_MODEL = compile_late(r"[a-z]+/[!-~]+")


class PublishedPrice(Struct, frozen=True, kw_only=True):
    """A price, where it was published, and the last day on which it is known to have stood there.

    `window` is how many tokens a prompt of this model may have, or None where that is not known.
    """

    price: Price
    as_of: date
    source: str
    window: int | None = None


class _Figures(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    input: Decimal
    output: Decimal
    cache_read: Decimal
    cache_write: Decimal

    def build_price(self, long_prompt: LongPrompt | None = None) -> Price:
        figures = (self.input, self.output, self.cache_read, self.cache_write)
        if not all(figure.is_finite() and figure >= 0 for figure in figures):
            raise ValueError("each figure must be a number that is not negative")
        return Price(
            input=self.input,
            output=self.output,
            cache_read=self.cache_read,
            cache_write=self.cache_write,
            long_prompt=long_prompt,
        )


class _LongPrompt(_Figures, frozen=True, forbid_unknown_fields=True, kw_only=True):
    above: int


class _PriceEntry(_Figures, frozen=True, forbid_unknown_fields=True, kw_only=True):
    as_of: date
    source: str
    window: int | None = None
    long_prompt: _LongPrompt | None = None


@cache
def load_published_prices() -> Mapping[str, PublishedPrice]:
    """The published prices by "vendor/model". Raises ConfigError where the file is damaged or missing."""
    try:
        text = resources.files(__package__).joinpath(_FILE).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"quorum's file of prices cannot be read: {error}; install quorum anew") from error
    return parse_prices(text)


def parse_prices(text: str) -> dict[str, PublishedPrice]:
    """The prices in the text of such a file. Raises ConfigError that names the entry that is wrong."""
    try:
        data = tomllib.loads(text, parse_float=Decimal)
    except (ValueError, ArithmeticError) as error:
        raise ConfigError(f"{_FILE} is not TOML: {error}; correct it") from error
    return {model: _parse_price(model, entry) for model, entry in data.items()}


def _parse_price(model: str, data: object) -> PublishedPrice:
    try:
        if not _MODEL.fullmatch(model):
            raise ValueError('its name must be "vendor/model"')
        entry = msgspec.convert(data, _PriceEntry, strict=True)
        if not entry.source.strip():
            raise ValueError("its source must be named")
        if entry.window is not None and entry.window <= 0:
            raise ValueError("its window must be a number of tokens above 0")
        return PublishedPrice(
            price=entry.build_price(_read_long_prompt(entry)),
            as_of=entry.as_of,
            source=entry.source,
            window=entry.window,
        )
    except ValueError as error:  # msgspec's own errors are of this kind
        raise ConfigError(f"{_FILE}: the entry {model!r} is wrong: {error}; correct it") from error


def _read_long_prompt(entry: _PriceEntry) -> LongPrompt | None:
    if entry.long_prompt is None:
        return None
    if entry.long_prompt.above <= 0:
        raise ValueError("long_prompt.above must be a number of tokens above 0")
    return LongPrompt(above=entry.long_prompt.above, price=entry.long_prompt.build_price())
