from typing import cast

import pytest

from quorum.application.calls.hook_chain import HookChain
from quorum.application.ports.workspace import MentionSource
from quorum.application.review.review import Review
from quorum.application.turn.attachments import (
    MOST_CHARACTERS_OF_REFERENCES,
    MOST_REFERENCE_CHARACTERS,
    MOST_REFERENCES,
    Mentions,
)
from quorum.domain.conversation.attachment import AttachedFile
from quorum.domain.conversation.history import UserMessage
from quorum.domain.text.mention import Reference


class FakeReferences:
    """Knows every issue but those of the working directory, where there is no repository."""

    def __init__(self, *, has_repository: bool = True) -> None:
        self.asked: list[tuple[str, int]] = []
        self._has_repository = has_repository

    async def read(self, reference: Reference, most_characters: int) -> AttachedFile | None:
        self.asked.append((reference.label, most_characters))
        if not reference.repository and not self._has_repository:
            return None
        return AttachedFile(name=reference.label, content="text", first_line=1, last_line=1, total_lines=1)


def attaching(references: FakeReferences) -> Mentions:
    return Mentions(
        cast("MentionSource", None),
        cast("Review", None),
        cast("HookChain", None),
        room=lambda: 100_000,
        references=references,
    )


async def test_each_issue_that_a_prompt_names_is_attached_once() -> None:
    references = FakeReferences()
    said = await attaching(references).attach(UserMessage("is #12 the same as a/b#3? and #12 again"))
    assert [file.name for file in said.files] == ["#12", "a/b#3"]
    assert "[attached: #12, 1 line" in said.sent_text
    assert references.asked == [("#12", MOST_REFERENCE_CHARACTERS), ("a/b#3", MOST_REFERENCE_CHARACTERS)]


async def test_what_belongs_to_no_repository_is_left_as_it_is() -> None:
    said = await attaching(FakeReferences(has_repository=False)).attach(UserMessage("step #1 of 3"))
    assert said == UserMessage("step #1 of 3")


@pytest.mark.parametrize("prompt", ["no sign here", "a path/to/file", "# a heading"])
async def test_other_prompts_ask_nobody(prompt: str) -> None:
    references = FakeReferences()
    assert await attaching(references).attach(UserMessage(prompt)) == UserMessage(prompt)
    assert references.asked == []


async def test_many_issues_share_a_bound() -> None:
    references = FakeReferences()
    await attaching(references).attach(UserMessage(" ".join(f"#{n}" for n in range(1, 40))))
    assert len(references.asked) == MOST_REFERENCES
    assert sum(most for _, most in references.asked) <= MOST_CHARACTERS_OF_REFERENCES


async def test_a_range_is_each_of_its_numbers_and_what_is_too_much_is_named() -> None:
    references = FakeReferences()
    said = await attaching(references).attach(UserMessage("compare #21-23 and a/b#1-99999"))
    assert [file.name for file in said.files[:4]] == ["#21", "#22", "#23", "a/b#1"]
    assert len(references.asked) == MOST_REFERENCES
    assert "[a/b#6 and what is named after it is not attached: a prompt attaches at most 8" in said.sent_text
