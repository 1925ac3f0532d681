"""The models there are, for the menu: from all providers at once, those of the present one first."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui.agent.port import Agent


async def listed_models(agent: Agent) -> Sequence[str]:
    """All models that the providers list; one that cannot be asked lists none."""
    from domain.errors import ProviderError

    async def of(provider: str) -> Sequence[str]:
        try:
            return await agent.models.list_models(provider)
        except ProviderError:
            return ()

    own = agent.models.current.partition("/")[0]
    providers = sorted(agent.models.providers, key=lambda name: name != own)
    lists = await asyncio.gather(*map(of, providers))
    return list(dict.fromkeys([agent.models.current, *(model for models in lists for model in models)]))
