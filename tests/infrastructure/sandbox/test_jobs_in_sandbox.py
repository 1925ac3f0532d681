"""Protected paths that a command makes unasked in the sandbox while it runs in the background."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from quorum.domain.events.event import NoticeGiven
from tests.infrastructure.commands.command_bench import eventually
from tests.infrastructure.commands.job_bench import JobBench
from tests.infrastructure.sandbox.sandbox_bench import Household, needs_bubblewrap

pytestmark = needs_bubblewrap

_RENAMED = "protected paths that the command made were renamed, because nobody was asked about them"


def bench_in(household: Household, *, inspect_secs: float = 600.0) -> JobBench:
    household.network = False
    return JobBench(
        household.root.resolve(),
        inherited=household.environ,
        sandbox=household.sandbox(),
        inspect_secs=inspect_secs,
    )


def told(bench: JobBench) -> list[str]:
    return [event.message for event in bench.ledger.events if isinstance(event, NoticeGiven)]


async def sent_away(bench: JobBench, command: str, ready: Path, *, was_asked: bool = False) -> str:
    """Start it as a call that waits, send it to the background once `ready` is there; what the model reads."""
    call = asyncio.create_task(bench.run(command, was_asked=was_asked))
    await eventually(ready.exists)
    bench.jobs.send_to_background()
    return await call


async def test_what_a_command_made_until_ctrl_b_is_set_aside_at_that_moment(household: Household) -> None:
    bench, root = bench_in(household), household.root

    said = await sent_away(bench, "echo evil > .envrc; touch ready; exec sleep 600", root / "ready")

    assert "the person sent it to the background as job-1" in said
    assert not (root / ".envrc").exists()
    assert (root / "set-aside-envrc~1").read_text() == "evil\n"
    (sentence,) = told(bench)
    assert sentence.startswith(f"job-1, which still runs: {_RENAMED}")
    assert bench.notes == [sentence]
    await bench.jobs.close()
    assert any(_RENAMED in remark for remark in bench.ended().remarks)


async def test_what_a_job_makes_later_is_set_aside_when_the_model_reads_it(household: Household) -> None:
    bench, root = bench_in(household), household.root
    late = "touch ready; while [ ! -e go ]; do sleep 0.05; done; touch AGENTS.md made; exec sleep 600"
    await sent_away(bench, late, root / "ready")
    assert told(bench) == []
    (root / "go").touch()
    await eventually((root / "made").exists)

    await bench.ask("read", job_id="job-1")

    assert not (root / "AGENTS.md").exists()
    assert (root / "set-aside-AGENTS.md~1").exists()
    assert len(told(bench)) == 1
    await bench.ask("read", job_id="job-1")
    assert len(told(bench)) == 1  # nothing is said twice
    await bench.jobs.close()


async def test_nobody_has_to_read_a_job_for_that(household: Household) -> None:
    bench, root = bench_in(household, inspect_secs=0.05), household.root
    late = "touch ready; while [ ! -e go ]; do sleep 0.05; done; mkdir -p a; touch a/.envrc; exec sleep 600"
    await sent_away(bench, late, root / "ready")
    (root / "go").touch()

    await eventually(lambda: told(bench))

    assert not (root / "a/.envrc").exists()
    assert (root / "a/set-aside-envrc~1").exists()
    await bench.jobs.close()


async def test_a_job_that_the_person_approved_keeps_what_it_makes(household: Household) -> None:
    bench, root = bench_in(household, inspect_secs=0.05), household.root

    await sent_away(bench, "touch .envrc ready; exec sleep 600", root / "ready", was_asked=True)
    await bench.ask("read", job_id="job-1")

    assert (root / ".envrc").exists()
    assert told(bench) == []
    await bench.jobs.close()
    assert (root / ".envrc").exists()
    assert any("made by the command, though protected" in remark for remark in bench.ended().remarks)


@pytest.mark.long
async def test_a_job_that_makes_it_again_and_again_ends_with_none(household: Household) -> None:
    bench, root = bench_in(household, inspect_secs=0.02), household.root
    again = "while :; do [ -e .envrc ] || ln -s /etc/passwd .envrc; touch ready; done"
    await sent_away(bench, again, root / "ready")
    await eventually(lambda: len(told(bench)) > 2)

    await eventually(lambda: (root / "set-aside-envrc~25").is_symlink())
    assert len(told(bench)) <= 21
    await bench.jobs.close()

    assert not (root / ".envrc").is_symlink()
    assert (root / "set-aside-envrc~3").is_symlink()
