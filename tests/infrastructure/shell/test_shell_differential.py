"""Random lines: what the gate proves read-only is run by bash under strace, and does nothing but read."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from quorum.domain.shell.command_line import ShellVerdict, ShellVerdictKind
from tests.support.command_texts import CommandTexts
from tests.support.traced_stage import TracedStage, why_no_tracing

# `benchmarks/shell_differential.py` tries more. Failures name the seed.
SEED = os.environ.get("SHELL_DIFFERENTIAL_SEED", "1")
MOST_TEXTS = int(os.environ.get("SHELL_DIFFERENTIAL_TEXTS", "240"))
MOST_RUNS = int(os.environ.get("SHELL_DIFFERENTIAL_RUNS", "40"))

if (reason := why_no_tracing()) is not None:
    pytest.skip(f"lines cannot be watched: {reason}", allow_module_level=True)


@pytest.fixture(params=["plain", "planted"])
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> TracedStage:
    """With programs of the workspace on PATH, and a person who sets POSIXLY_CORRECT; or without."""
    is_planted = request.param == "planted"
    return TracedStage(tmp_path, is_planted=is_planted, is_posix=is_planted)


@pytest.mark.long
async def test_a_line_that_is_proved_read_only_does_nothing_but_read(
    stage: TracedStage, request: pytest.FixtureRequest
) -> None:
    texts = CommandTexts(f"{SEED} {request.node.name}")
    broken: dict[str, list[str]] = {}
    runs = 0
    for _ in range(MOST_TEXTS):
        line = texts.next()
        verdict = await stage.gate.judge(line, stage.workspace)
        if not verdict.is_read_only:
            continue
        runs += 1
        if found := stage.violations(line, verdict):
            broken[line] = found
        if runs == MOST_RUNS:
            break

    assert not broken, f"SHELL_DIFFERENTIAL_SEED={SEED}"
    # Else the lines would be tried in vain.
    assert runs >= MOST_TEXTS // 20 or runs == MOST_RUNS


@pytest.mark.long(after=2)
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("command rm a -v", "rm"),
        ("command eval 'touch pwn #' -v", "touch"),
        ("cd 0</dev/null && cat .bash_history", "it printed what it must not read"),
        ("cat .env", "it printed what it must not read"),
        ("cat .git/config", ".git/config"),
        ("rev dash/-", "outside/secret"),
        ("wc -c ../outside/secret", "outside/secret"),
        ("ls ../outside", "outside"),
        ("rg KEY gitfile", "gitfile/.env"),
        ("jq -n '$ ENV'", "it printed what it must not read"),
        (": > pwn", "it opened"),
        ("mkdir new", "it called mkdir"),
        ("cat a_pipe", "it did not end"),
    ],
)
def test_the_tracer_reports_what_a_reader_does_not_do(tmp_path: Path, line: str, expected: str) -> None:
    if (program := line.split()[0]) in ("rg", "jq") and shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    stage = TracedStage(tmp_path, is_planted=False, is_posix=False)
    verdict = ShellVerdict(kind=ShellVerdictKind.READ_ONLY, reason="as if it were proved")

    found = stage.violations(line, verdict, timeout_secs=3 if expected == "it did not end" else 60)

    assert expected in "\n".join(found)


def test_the_tracer_reports_programs_of_the_workspace(tmp_path: Path) -> None:
    stage = TracedStage(tmp_path, is_planted=True, is_posix=False)
    verdict = ShellVerdict(kind=ShellVerdictKind.READ_ONLY, reason="as if it were proved")

    found = stage.violations("egrep x a", verdict)

    assert f"it started {stage.workspace}/.venv/bin/grep" in found


def test_the_same_seed_gives_the_same_lines() -> None:
    first, second, other = CommandTexts(1), CommandTexts(1), CommandTexts(2)
    lines = [first.next() for _ in range(50)]

    assert [second.next() for _ in range(50)] == lines
    assert [other.next() for _ in range(50)] != lines
