"""What models cost and how much they take in: as published, and the person's own figures over that."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from functools import cache
from importlib import resources

import msgspec
from msgspec import Struct

from quorum.domain.conversation.context_size import find_output_limit
from quorum.domain.conversation.cost import LongPrompt, Price, PriceTable, strip_date
from quorum.domain.errors import ConfigError
from quorum.domain.settings import ModelWindowTable
from quorum.domain.text.pattern import compile_once
from quorum.infrastructure.config.model_tables import ModelPriceTable, ProviderTable
from quorum.infrastructure.provider_types import (
    DEFAULT_ANTHROPIC_OUTPUT_TOKENS,
    find_public_service,
    get_traits,
)

_FILE = "prices.toml"
_MODEL = r"[a-z]+/[!-~]+"


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
        if not compile_once(_MODEL).fullmatch(model):
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


_OFFLINE = "offline"


def build_price_table(
    providers: Mapping[str, ProviderTable], own: Mapping[str, ModelPriceTable], environ: Mapping[str, str]
) -> PriceTable:
    """The prices that hold for these providers; those of `[prices]` in the settings count more.

    Raises ConfigError where the published prices cannot be read.
    """
    prices = {
        f"{name}/{model.partition('/')[2]}": published.price
        for name, table in providers.items()
        if (vendor := _find_vendor(table, environ)) is not None
        for model, published in load_published_prices().items()
        if model.startswith(f"{vendor}/")
    }
    by_plan = frozenset(name for name, table in providers.items() if is_paid_by_plan(table))
    return PriceTable(prices | {model: _build_price(table) for model, table in own.items()}, by_plan)


def is_paid_by_plan(table: ProviderTable) -> bool:
    """Whether the plan of a person's own program pays for what this provider serves: it is given no key."""
    return get_traits(table.type).only_answers and not table.api_key_env


def build_window_lookup(
    providers: Mapping[str, ProviderTable], own: Mapping[str, ModelWindowTable]
) -> Callable[[str], int | None]:
    """Answers the tokens of the window of "provider/model": None where that is not known, 0 where there is no
    window to fill. `own` are those of `[context_budget.models]`, and count more.

    Unlike a price, a window is the model's wherever it is served, so its name decides. Copilot is the
    exception: GitHub gives models less than their vendors do. The answering raises ConfigError where the
    published list cannot be read.
    """

    def find_window(model: str) -> int | None:
        for name in (model, strip_date(model)):
            if name in own:
                return own[name].window
        provider, _, own_name = model.partition("/")
        table = providers.get(provider)
        if table is None or table.type == _OFFLINE:
            return None if table is None else 0
        vendor = find_public_service(table.type).vendor
        published = load_published_prices()
        known = [published.get(f"{vendor}/{name}") for name in (own_name, strip_date(own_name))]
        return next((each.window for each in known if each is not None), None)

    return find_window


def build_output_lookup(providers: Mapping[str, ProviderTable]) -> Callable[[str], int | None]:
    """Answers the most tokens that one answer of "provider/model" has: what the settings or the API bound it
    to, or else what is known of the model; None where nothing is."""

    def find_longest_answer(model: str) -> int | None:
        table = providers.get(model.partition("/")[0])
        known = find_output_limit(model)
        if table is None:
            return known
        bound = table.max_output_tokens or (DEFAULT_ANTHROPIC_OUTPUT_TOKENS if table.type == "anthropic" else 0)
        return min(bound, known or bound) if bound else known

    return find_longest_answer


def _find_vendor(table: ProviderTable, environ: Mapping[str, str]) -> str | None:
    """Who is paid for what this provider serves, where that is a vendor at its public address.

    A published price is for the vendor's own service: a proxy, a cloud or a region may charge anything else.
    """
    public = get_traits(table.type).public
    if table.client or public is None:
        return None
    address = table.base_url or environ.get(public.address_env) or public.address
    return public.vendor if address.rstrip("/") == public.address else None


def _build_price(table: ModelPriceTable) -> Price:
    return Price(
        input=_convert_exactly(table.input),
        output=_convert_exactly(table.output),
        cache_read=_convert_exactly(table.cache_read),
        cache_write=_convert_exactly(table.cache_write),
    )


def _convert_exactly(figure: float) -> Decimal:
    """The figure as it was written, not as a binary fraction."""
    return Decimal(repr(figure))
