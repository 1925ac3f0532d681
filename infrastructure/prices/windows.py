"""How many tokens fit into a model's window: as the settings say, or as its vendor publishes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from domain.conversation.cost import without_date
from infrastructure.config.context_table import ModelWindowTable
from infrastructure.config.provider_table import ProviderTable
from infrastructure.prices.published import published_prices

_VENDORS: Mapping[str, str] = {"anthropic": "anthropic", "openai": "openai", "openai-chat": "openai"}
_OFFLINE = "offline"


def context_windows(
    providers: Mapping[str, ProviderTable], own: Mapping[str, ModelWindowTable]
) -> Callable[[str], int | None]:
    """Answers the tokens of the window of "provider/model": None where that is not known, 0 where there is no
    window to fill. `own` are those of `[context_budget.models]`, and count more.

    Unlike a price, a window is the model's wherever it is served, so its name decides. Copilot is the
    exception: GitHub gives models less than their vendors do. The answering raises ConfigError where the
    published list cannot be read.
    """

    def window(model: str) -> int | None:
        for name in (model, without_date(model)):
            if name in own:
                return own[name].window
        provider, _, own_name = model.partition("/")
        table = providers.get(provider)
        if table is None or table.type == _OFFLINE:
            return None if table is None else 0
        vendor = _VENDORS.get(table.type)
        published = published_prices()
        known = [published.get(f"{vendor}/{name}") for name in (own_name, without_date(own_name))]
        return next((each.window for each in known if each is not None), None)

    return window
