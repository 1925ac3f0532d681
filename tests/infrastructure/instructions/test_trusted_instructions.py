"""Which instruction files are in force, by what the person trusts."""

from __future__ import annotations

from pathlib import Path

from quorum.domain.conversation.history import Conversation
from quorum.infrastructure.instructions.instruction_files import InstructionFiles, TrustedInstructions
from quorum.infrastructure.tools.builtin.seen import SeenFiles
from quorum.infrastructure.trust_decisions import TrustDecisions
from tests.support.fake_ports import FakePerson


async def test_what_a_turn_comes_upon_may_have_to_wait_for_its_question(
    tmp_path: Path,
) -> None:
    root, person = tmp_path / "project", FakePerson()
    (root / ".git").mkdir(parents=True)
    (root / "AGENTS.md").write_text("Use tabs.\n")
    finder = TrustedInstructions(
        InstructionFiles(root, {"HOME": str(tmp_path)}, lambda _path: False),
        seen=SeenFiles(Conversation()),
        decisions=TrustDecisions(None),
        approver=person,
        asks_in_turns=False,
    )
    files = await finder.find()

    unasked, (notice,) = await finder.select_trusted(files, in_turn=True)

    assert (unasked, person.trust_questions) == ((), [])
    assert notice.endswith("AGENTS.md is not trusted, so its instructions are not used")

    person.trusts = True
    asked, _ = await finder.select_trusted(files)

    assert [file.file for file in asked] == [str(root / "AGENTS.md")]
