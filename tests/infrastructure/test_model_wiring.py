from __future__ import annotations

from pathlib import Path

import pytest

from quorum.domain.conversation.history import UserMessage
from quorum.domain.errors import ProviderError, ProviderErrorKind
from tests.infrastructure.test_container import a_container


async def test_another_model_takes_over_the_same_conversation(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("alpha\n")
    container = a_container(tmp_path)
    agent = container.agent()
    await agent.run.execute("read a.txt")
    first = container.parts().models.session.chosen

    await agent.models.choose("offline/other")
    await agent.run.execute("read a.txt")

    assert agent.models.current == "offline/other"
    assert container.parts().models.session.chosen is not first
    said = [m for m in container.parts().core.conversation.messages if isinstance(m, UserMessage)]
    assert [message.text for message in said] == ["read a.txt"] * 2


async def test_a_provider_that_is_not_there_leaves_the_model_as_it_was(tmp_path: Path) -> None:
    agent = a_container(tmp_path).agent()

    with pytest.raises(ProviderError, match='there is no provider "nowhere"') as caught:
        await agent.models.choose("nowhere/model")

    assert caught.value.kind is ProviderErrorKind.CONFIGURATION
    assert agent.models.current == "offline/offline"


async def test_all_configured_providers_can_be_asked_and_one_without_a_key_says_so(tmp_path: Path) -> None:
    agent = a_container(tmp_path).agent()

    assert {"anthropic", "openai", "offline"} <= set(agent.models.providers)
    assert await agent.models.list_models("offline") == ("offline/offline",)
    with pytest.raises(ProviderError, match="ANTHROPIC_API_KEY"):
        await agent.models.list_models("anthropic")
