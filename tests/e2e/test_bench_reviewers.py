"""`quorum bench review --results`: reviewers are asked, and an interruption costs no ballot twice."""

from __future__ import annotations

import json
import signal
from collections import Counter
from pathlib import Path

import pytest

from quorum.infrastructure.benchmark.labelled_data import SMALL_SET
from tests.infrastructure.commands.command_bench import eventually
from tests.support.headless_run import Ended, Started, end, environment, run_quorum, start_quorum
from tests.support.quorum_rig import DONE, QuorumRig, quorum_rig, vote
from tests.support.sse_server import Hang, Refuse, SseServer

COMMAND = ("bench", "review", "--data", "calls.jsonl", "--results", "votes.jsonl", "--concurrency", "1")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    calls = [
        {
            "id": f"c{number}",
            "task": None,
            "tool": "run_command",
            "arguments": {"command": f"rm -r folder{number}"},
            "label": ("safe", "unsafe")[number % 2],
            "kind": "k",
        }
        for number in range(4)
    ]
    work = tmp_path / "work"
    work.mkdir()
    (work / "calls.jsonl").write_text("\n".join(map(json.dumps, calls)))
    return work


async def start(rig: QuorumRig, folder: Path, *more: str) -> Started:
    return await start_quorum(*COMMAND, *more, cwd=folder, env=environment(rig.home))


def count_asked(server: SseServer) -> Counter[str]:
    """How often each call was asked about."""
    bodies = map(json.dumps, server.bodies)
    return Counter(next(f"c{n}" for n in range(4) if f"folder{n}" in body) for body in bodies)


async def interrupt(rig: QuorumRig, folder: Path, how: signal.Signals) -> Ended:
    """Interrupt while the third ballot is asked for."""
    process = await start(rig, folder)
    await eventually(lambda: len(rig.reviewers[0].bodies) == 3)
    process.send_signal(how)
    return await end(process)


@pytest.mark.long
async def test_a_killed_measurement_goes_on_with_what_is_missing(tmp_path: Path, folder: Path) -> None:
    script = [vote("approve"), vote("reject"), Hang("silent"), vote("approve"), vote("approve")]
    async with quorum_rig(tmp_path / "home", [], [script]) as rig:
        killed = await interrupt(rig, folder, signal.SIGKILL)
        assert len((folder / "votes.jsonl").read_text().splitlines()) == 2
        ended = await end(await start(rig, folder, "--json"))
        asked = count_asked(rig.reviewers[0])

    assert killed.code == -signal.SIGKILL
    assert ended.code == 0, ended.err
    assert asked == {"c0": 1, "c1": 1, "c2": 2, "c3": 1}  # c2 had no answer when the process was killed
    (reviewer,) = json.loads(ended.out)["ballots"]["reviewers"]
    assert (reviewer["misses"]["count"], reviewer["misses"]["of"]) == (1, 2)
    assert (reviewer["friction"]["count"], reviewer["friction"]["of"]) == (0, 2)
    assert reviewer["p95_secs"] > 0


@pytest.mark.long
async def test_an_interruption_by_the_person_says_how_to_go_on(tmp_path: Path, folder: Path) -> None:
    script = [vote("approve"), vote("reject"), Hang("silent")]
    async with quorum_rig(tmp_path / "home", [], [script]) as rig:
        ended = await interrupt(rig, folder, signal.SIGINT)

    assert ended.code == 130
    assert "2 of 4 ballots are in" in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.long
async def test_a_cap_holds_over_all_runs_into_one_file(tmp_path: Path, folder: Path) -> None:
    prices = '[prices."r0/scripted"]\ninput = 0\noutput = 1000000\ncache_read = 0\ncache_write = 0\n'
    async with quorum_rig(tmp_path / "home", [], [[vote("approve")] * 4], more=prices) as rig:
        first = await end(await start(rig, folder, "--max-cost-usd", "515"))
        left = await end(await start(rig, folder, "--max-cost-usd", "30"))
        used_up = await end(await start(rig, folder, "--max-cost-usd", "22"))

    # An answer is expected to have 500 tokens, and has 11: after two the next one would exceed the cap.
    assert first.code == 5, first.err
    assert len(rig.reviewers[0].bodies) == 2
    assert left.code == 5, left.err
    assert used_up.code == 2
    assert "the ballots in the results file cost $22.00" in used_up.err


@pytest.mark.long
async def test_a_reviewer_that_is_down_is_named_and_asked_the_next_time(tmp_path: Path, folder: Path) -> None:
    down = [Refuse(status=500, message="down")] * 3
    async with quorum_rig(tmp_path / "home", [], [[*down, *[vote("reject")] * 4]]) as rig:
        ended = await end(await start(rig, folder))
        again = await end(await start(rig, folder))

    assert ended.code == 4
    assert "r0/scripted is not asked any more" in ended.err
    assert "0 of 4 ballots are in" in ended.err
    assert again.code == 0, again.err


@pytest.mark.long
async def test_what_was_measured_is_written_and_a_broken_file_of_it_is_named_at_the_start(
    tmp_path: Path, folder: Path
) -> None:
    file = tmp_path / "calibration.json"
    more = f'[quorum]\ncalibration = "{file}"\n'
    async with quorum_rig(tmp_path / "home", [DONE], [[vote("approve"), vote("reject")] * 2], more=more) as rig:
        file.write_text("broken")
        refused = await rig.run(folder)
        kept = await end(await start(rig, folder, "--write-calibration", str(file)))
        asked = len(rig.reviewers[0].bodies)
        file.unlink()
        ended = await end(await start(rig, folder, "--write-calibration", str(file)))
        started = await rig.run(folder)

    assert refused.code == 2
    assert f"quorum.calibration: {file} is no calibration" in refused.err
    assert (kept.code, asked) == (2, 0)
    assert f"{file} is there already, and is no calibration" in kept.err
    assert ended.code == 0, ended.err
    measured = json.loads(file.read_text())["reviewers"]["r0/scripted"]
    assert (measured["misses"]["count"], measured["misses"]["of"]) == (0, 2)
    assert started.code == 0, started.err


@pytest.mark.long
async def test_the_calls_that_come_with_quorum_are_measured_by_how_they_relate_to_their_requests(
    tmp_path: Path,
) -> None:
    calls = len(SMALL_SET.read_text(encoding="utf-8").splitlines())
    async with quorum_rig(tmp_path / "home", [], [[vote("reject")] * calls]) as rig:
        ended = await run_quorum(
            *("bench", "review", "--results", "votes.jsonl", "--json"), cwd=tmp_path, env=environment(rig.home)
        )

    assert ended.code == 0, ended.err
    found = json.loads(ended.out)
    assert {"model_free", "ballots_alone", "ballots_pair"} <= set(found)
    assert "ballots" not in found


@pytest.mark.long
async def test_without_reviewers_nothing_is_asked(tmp_path: Path, folder: Path) -> None:
    async with quorum_rig(tmp_path / "home", [], []) as rig:
        ended = await end(await start(rig, folder))

    assert ended.code == 2
    assert "name them in [models] review" in ended.err
