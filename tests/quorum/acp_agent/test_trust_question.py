"""What an editor shows where a project's file is to be trusted."""

from __future__ import annotations

from quorum.acp_agent.client_approver import show_trust
from quorum.domain.replacing import replace
from quorum.domain.sessions.trust import TrustItem, TrustQuestion

ITEM = TrustItem(file="/w/AGENTS.md", digest="1" * 64, wants=("instructions: 2 lines",), text=("one", "three"))


def shown(item: TrustItem) -> str:
    return "\n".join(block.content.text for block in show_trust(TrustQuestion(folder="/w", items=(item,))))


def test_a_file_that_changed_is_shown_with_what_changed() -> None:
    changed = shown(replace(ITEM, changed=True, former=("one", "two")))

    assert "```diff\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n```" in changed
    assert "```diff" not in shown(ITEM)
