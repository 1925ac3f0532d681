"""Which commands a rule about edited files finds: those whose programs are known to change them."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.domain.calls.access import EXCLUSIVE
from quorum.domain.calls.tool import RiskLevel
from quorum.domain.review.decision import decide
from quorum.domain.review.mode import Mode
from quorum.domain.review.path_policy import PathPolicy
from quorum.domain.review.permission_rules import Answer, Rule, Subject
from tests.support.shell_gates import judge


async def decide_by(rule_says: Answer, command: str, workspace: Path, *, mode: Mode = Mode.AUTO) -> Answer:
    (workspace / "infra").mkdir(exist_ok=True)
    verdict = await judge(command, workspace)
    subject = Subject(tool="run_command", risk=RiskLevel.HIGH, access=EXCLUSIVE, command=command, shell=verdict)
    rule = Rule.parse("write_file(infra/**)", rule_says, "test")
    paths = PathPolicy(roots=(str(workspace),))
    return decide(subject, mode=mode, paths=paths, rules=(rule,)).answer


@pytest.mark.parametrize(
    "command",
    [
        "echo x > infra/a",
        "cp a infra/b",
        "mv x infra",
        "rm -r infra",
        "tee -a infra/a < x",
        "sed -i s/a/b/ infra/a",
        "cd infra && touch a",
        "D=infra; cp a $D/b",
        "rsync -a x/ infra/",
        "git checkout -- infra",
        "unzip x.zip -d infra",
        "python3 -c \"open('infra/a', 'w')\"",
        "sh -c 'cp a infra/b'",
        "env -i install x infra/y",
    ],
)
async def test_a_rule_about_edits_finds_commands_that_change_the_file(command: str, tmp_path: Path) -> None:
    assert await decide_by(Answer.ASK, command, tmp_path) is Answer.ASK
    assert await decide_by(Answer.DENY, command, tmp_path) is Answer.DENY


@pytest.mark.parametrize(
    "command",
    [
        "cat infra/a",
        "cp infra/a b",
        "python3 infra/run.py",
        "make -C infra",
        "grep -r x infra > out",
        "rm infra2",
    ],
)
async def test_a_command_that_reads_the_file_is_none_of_it(command: str, tmp_path: Path) -> None:
    assert await decide_by(Answer.ASK, command, tmp_path) is Answer.ALLOW


async def test_a_rule_that_allows_edits_allows_no_command(tmp_path: Path) -> None:
    assert await decide_by(Answer.ALLOW, "cp a infra/b", tmp_path, mode=Mode.ASK) is Answer.ASK
