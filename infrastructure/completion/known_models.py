"""Models and providers that a person is likely to name."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from importlib import resources

from quorum.infrastructure.completion.known_settings import get_table

BUILT_IN_PROVIDERS = ("anthropic", "openai", "offline")
OFFLINE_MODEL = "offline/offline"


def list_known_models(settings: Mapping[str, object], used: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the settings, those that sessions used, and those with a published price, in this order."""
    published = tomllib.loads(
        resources.files("quorum.infrastructure.prices").joinpath("prices.toml").read_text(encoding="utf-8")
    )
    names = (*_list_configured(get_table(settings, "models").values()), *used, *published, OFFLINE_MODEL)
    return tuple(dict.fromkeys(name for name in names if "/" in name))


def list_known_providers(settings: Mapping[str, object]) -> tuple[str, ...]:
    """Those that come with quorum and those of the settings."""
    return tuple(dict.fromkeys((*BUILT_IN_PROVIDERS, *get_table(settings, "providers"))))


def _list_configured(values: Iterable[object]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from (each for each in value if isinstance(each, str))
