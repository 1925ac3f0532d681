"""Commands that go on in the background, with real processes."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from quorum.application.steering import PendingMessage
from quorum.domain.calls.job import JobStatus, JobStopper
from quorum.domain.conversation.history import UserMessage
from quorum.domain.errors import LedgerError, ToolError
from quorum.domain.events.event import CallProgressed, Event, JobEnded, JobProgressed, JobStarted
from quorum.domain.text.output import Text
from quorum.infrastructure.store.blobs.file_store import FileBlobStore
from tests.infrastructure.commands.command_bench import Daemon, a_sleep, alive_with, eventually
from tests.infrastructure.commands.job_bench import JobBench

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")

# Plays quorum: sends one command to the background and waits to be killed.
_QUORUM = """
import asyncio, sys
from pathlib import Path
from tests.infrastructure.commands.job_bench import JobBench
async def main():
    bench = JobBench(Path(sys.argv[1]))
    print(await bench.background(sys.argv[2]), flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""
_SERVER = f"exec {sys.executable} -u -m http.server --bind 127.0.0.1 0"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path.resolve()


@pytest.fixture
def bench(root: Path) -> JobBench:
    return JobBench(root)


async def fetch(url: str) -> int:
    def get() -> int:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return int(answer.status)

    return await asyncio.to_thread(get)


async def test_a_server_is_started_read_and_stopped(root: Path, bench: JobBench) -> None:
    (root / "index.html").write_text("hello")
    answer = await bench.background(_SERVER)
    assert "it runs in the background as job-1" in answer

    async def port() -> str | None:
        said = await bench.ask("read", job_id="job-1", offset=0)
        found = re.search(r"port (\d+)", said) or re.search(r"port (\d+)", answer)
        return found and found[1]

    while (number := await port()) is None:
        await bench.ask("read", job_id="job-1", wait_secs=1)
    before = await bench.ask("read", job_id="job-1")
    assert await fetch(f"http://127.0.0.1:{number}/") == 200
    await eventually(lambda: "GET / " in bench.jobs.read_page(bench.jobs.find("job-1"), 0, 9999).text)  # type: ignore[union-attr]
    after = await bench.ask("read", job_id="job-1")

    assert "nothing new" in before or "Serving" in before
    assert "GET / " in after
    assert "Serving" not in after  # it was read before
    stopped = await bench.ask("stop", job_id="job-1")
    assert stopped.startswith("job-1 was stopped by you after")
    with pytest.raises(OSError):
        await fetch(f"http://127.0.0.1:{number}/")
    assert (bench.ended().status, bench.ended().stopper) == (JobStatus.STOPPED, JobStopper.MODEL)
    assert bench.notes == []  # it knows already


async def test_its_end_is_on_record_and_reported_to_the_model(bench: JobBench) -> None:
    job = await bench.held("echo built; exit 3")
    await bench.ask("list")
    job.go_on()
    await eventually(lambda: bench.pending.any_waiting)  # added once the end is recorded

    started = next(e for e in bench.ledger.events if isinstance(e, JobStarted))
    assert (started.job_id, started.command) == ("job-1", job.command)
    assert started in bench.ledger.urgent
    ended = bench.ended()
    assert (ended.status, ended.exit_code, ended.output) == (JobStatus.ENDED, 3, "built")
    (note,) = bench.notes
    assert note == ended.note
    assert re.match(r"The background command job-1 ended after .*: exit code 3\. Its command line: until", note)
    assert note.endswith("\nThe end of what it printed, each line of it behind a bar:\n| built")


async def test_an_end_that_is_read_while_it_goes_on_record_is_not_reported_again(bench: JobBench) -> None:
    def read(event: Event) -> None:
        if isinstance(event, JobEnded):
            bench.jobs.note_read(bench.jobs.find("job-1"), 6)

    bench.on_written = read
    waiting = await bench.held("echo built")
    (job,) = bench.jobs.all
    waiting.go_on()
    await bench.jobs.wait_for(job, 60)

    assert bench.ended().status is JobStatus.ENDED
    assert bench.notes == []


async def test_reading_waits_for_the_end_no_longer_than_it_was_asked_to(bench: JobBench) -> None:
    job = await bench.held("echo built")
    reading = asyncio.create_task(bench.ask("read", job_id="job-1", wait_secs=60))
    await asyncio.sleep(0)
    job.go_on()
    said = await reading

    assert re.fullmatch(r"job-1 ended after \S+ m?s: exit code 0\ncharacters 0 to 6 of 6:\nbuilt", said)
    assert bench.notes == []  # the model has just read of it


async def test_a_wait_that_is_interrupted_leaves_the_job_alone(bench: JobBench) -> None:
    await bench.background("sleep 600")
    waiting = asyncio.create_task(bench.ask("read", job_id="job-1", wait_secs=600))
    await asyncio.sleep(0)
    waiting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert "is running" in await bench.ask("list")
    await bench.jobs.close()


async def test_what_the_person_says_ends_a_wait_at_once_and_leaves_the_job_alone(bench: JobBench) -> None:
    await bench.background("sleep 600")
    bench.pending.add(PendingMessage(UserMessage("a note"), "command-1"))  # no word of the person
    waiting = asyncio.create_task(bench.ask("read", job_id="job-1", wait_secs=600))
    await eventually(lambda: len(asyncio.all_tasks()) > 2)
    assert not waiting.done()

    bench.pending.add(PendingMessage(UserMessage("stop waiting")))

    said = await asyncio.wait_for(waiting, 60)
    assert said.startswith("job-1 is running for")
    assert said.endswith("the wait was cut short: the person says something, which follows the results")
    again = await asyncio.wait_for(bench.ask("read", job_id="job-1", wait_secs=600), 60)
    assert "the wait was cut short" in again  # nothing has carried it to the model yet
    await bench.jobs.close()


@pytest.mark.long
async def test_what_was_said_and_taken_back_before_a_wait_does_not_end_it(bench: JobBench) -> None:
    job = await bench.held("echo built")
    bench.pending.add(PendingMessage(UserMessage("never mind")))
    bench.pending.take_back()
    reading = asyncio.create_task(bench.ask("read", job_id="job-1", wait_secs=60))
    await asyncio.sleep(0)
    job.go_on()

    assert (await reading).endswith("built")
    assert bench.ended().status is JobStatus.ENDED


async def test_what_ends_at_once_has_its_result_at_once_and_is_no_job(root: Path) -> None:
    bench = JobBench(root, settle_secs=60)

    assert await bench.background("echo busy; exit 4") == "busy\nexit code 4"
    assert await bench.ask("list") == "no command was sent to the background in this session"
    assert not bench.ledger.events


async def test_an_offset_gives_what_is_new_and_says_so_where_there_is_nothing(bench: JobBench) -> None:
    await bench.background("echo one; printf two; sleep 600")
    await eventually(lambda: bench.jobs.read_page(bench.jobs.find("job-1"), 0, 9).unfinished == "two")  # type: ignore[union-attr]

    first = await bench.ask("read", job_id="job-1", offset=0)
    again = await bench.ask("read", job_id="job-1", offset=4)
    past = await bench.ask("read", job_id="job-1", offset=5)

    assert first.endswith("characters 0 to 4 of 4:\none\nthe line that is not finished yet:\ntwo")
    assert "nothing new: it has printed 4 characters" in again
    assert "nothing: offset 5 is past the end, it has printed 4 characters" in past
    await bench.jobs.close()


async def test_a_job_that_floods_is_kept_within_bounds_and_whole_in_the_store(root: Path) -> None:
    store = FileBlobStore(root / "blobs")
    bench = JobBench(root, open_spill=store.open_spill, max_output_bytes=4096)
    job = await bench.held("seq 1 300000")
    job.go_on()

    said = await bench.ask("read", job_id="job-1", wait_secs=60)

    page = bench.jobs.read_page(bench.jobs.find("job-1"), 0, 10**9)
    assert page is not None
    assert page.printed == 1_988_895
    assert len(page.text) < 600_000
    assert "what came before is left out" in said
    assert said.split("\nall that it printed: ")[0].endswith("\n300000")
    assert len(said) < 13_000
    blob = bench.ended().blob_id
    assert blob is not None
    assert await store.load(blob) == Text("".join(f"{n}\n" for n in range(1, 300_001)))
    early = await bench.ask("read", job_id="job-1", offset=0)
    assert "those from 0 on are not in memory any more" in early


@pytest.mark.long
async def test_it_ends_with_the_session_and_so_does_a_daemon_that_it_forked(
    root: Path, bench: JobBench
) -> None:
    daemon, sleep = Daemon(root), a_sleep()
    await bench.background(f"{daemon.command}; setsid sleep {sleep} & wait; sleep 600")
    await eventually(lambda: daemon.is_alive() and alive_with(sleep))

    (record,) = await bench.jobs.close()

    assert not daemon.is_alive()
    assert not alive_with(sleep)
    assert (record.job_id, record.status, record.stopper) == ("job-1", JobStatus.STOPPED, JobStopper.SESSION)
    assert bench.notes == []
    with pytest.raises(ToolError, match="the session ends"):
        await bench.background("sleep 600")


@pytest.mark.long
async def test_nothing_of_it_outlives_a_quorum_that_is_killed(root: Path) -> None:
    daemon, sleep = Daemon(root), a_sleep()
    repository = str(Path(__file__).parents[3])
    quorum = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        _QUORUM,
        str(root),
        f"{daemon.command}; sleep {sleep}",
        stdout=subprocess.PIPE,
        cwd=repository,
        env={**os.environ, "PYTHONPATH": repository},
    )
    assert quorum.stdout is not None
    assert b"job-1" in await quorum.stdout.readline()
    await eventually(lambda: daemon.is_alive() and alive_with(sleep))

    quorum.kill()
    await quorum.wait()

    await eventually(lambda: not daemon.is_alive() and not alive_with(sleep))


@pytest.mark.long
async def test_twenty_run_side_by_side_and_the_next_is_refused(bench: JobBench) -> None:
    sleep = a_sleep()
    await asyncio.gather(
        *(bench.background(f"echo {n}; sleep {sleep}", call_id=f"call-{n}") for n in range(20))
    )

    with pytest.raises(ToolError, match="20 background commands run, which is the most there may be"):
        await bench.background("true")
    assert len(alive_with(sleep)) == 20
    assert (await bench.ask("list")).count(" is running for ") == 20
    assert len(await bench.jobs.close()) == 20
    assert not alive_with(sleep)


async def test_where_none_are_allowed_that_is_said(root: Path) -> None:
    with pytest.raises(ToolError, match=r"turned off: tools\.run_command\.max_jobs is 0"):
        await JobBench(root, most=0).background("true")


@pytest.mark.long
async def test_a_time_limit_is_kept_where_one_is_given(bench: JobBench) -> None:
    await bench.background("echo begun; sleep 600", timeout_secs=1)

    said = await bench.ask("read", job_id="job-1", wait_secs=60)

    assert bench.ended().status is JobStatus.TIMED_OUT
    assert re.match(r"job-1 was ended after [1-9]", said)
    assert "its time limit" in said


@pytest.mark.long
async def test_the_usual_time_limit_does_not_bind_it(root: Path) -> None:
    bench = JobBench(root, timeout_secs=1)
    await bench.background("sleep 1.5; echo done")

    assert (await bench.ask("read", job_id="job-1", wait_secs=60)).endswith("done")


# ---------------------------------------------------------------- sent there by the person


async def test_a_command_that_a_call_waits_for_goes_on_and_the_call_has_its_one_result(root: Path) -> None:
    bench = JobBench(root)
    call = asyncio.create_task(bench.run("echo one; read < go; echo two", call_id="call-7"))
    os.mkfifo(root / "go")
    await eventually(lambda: bench.jobs.foreground)
    await eventually(lambda: alive_with("echo one; read < go; echo two"))

    assert bench.jobs.send_to_background() == 1

    until_then = await call
    assert "the person sent it to the background as job-1" in until_then
    assert not bench.jobs.foreground
    (started,) = [e for e in bench.ledger.events if isinstance(e, JobStarted)]
    assert started.by_person
    await asyncio.to_thread((root / "go").write_text, "\n")
    said = await bench.ask("read", job_id="job-1", wait_secs=60)
    assert said.startswith("job-1 ended")
    assert said.endswith("two")
    assert bench.ended().status is JobStatus.ENDED
    if until_then.startswith("one\n"):
        assert "one" not in said  # the model has read that


async def test_one_that_ends_at_this_moment_has_its_usual_result(bench: JobBench) -> None:
    for pause in (0.0, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064):
        call = asyncio.create_task(bench.run("echo done; exit 5"))
        await eventually(lambda: bench.jobs.foreground or call.done())  # noqa: B023 - it is awaited here
        asyncio.get_running_loop().call_later(pause, bench.jobs.send_to_background)
        said = await call
        if said == "done\nexit code 5":
            continue
        (job_id,) = re.findall(r"as (job-\d+):", said)  # it was still running
        await bench.ask("read", job_id=job_id, wait_secs=60)
        assert bench.ended(job_id).exit_code == 5
    assert all(not isinstance(e, JobStarted) or bench.ended(e.job_id) for e in bench.ledger.events)


@pytest.mark.long
async def test_one_whose_time_is_up_is_not_kept_alive(root: Path) -> None:
    bench = JobBench(root)
    call = asyncio.create_task(bench.run("trap '' TERM; sleep 600", timeout_secs=1))
    await eventually(lambda: bench.jobs.foreground)
    asyncio.get_running_loop().call_later(1.1, bench.jobs.send_to_background)

    with pytest.raises(ToolError, match="its time limit"):
        await call
    assert not bench.ledger.events


@pytest.mark.long
async def test_where_there_is_no_room_it_stays_in_the_foreground(root: Path) -> None:
    bench = JobBench(root, most=1)
    await bench.background("sleep 600")
    call = asyncio.create_task(bench.run("sleep 0.5; echo done"))
    await eventually(lambda: bench.jobs.foreground)

    with pytest.raises(ToolError, match="the most there may be"):
        bench.jobs.send_to_background()
    assert await call == "done\nexit code 0"
    await bench.jobs.close()


# ---------------------------------------------------------------- interrupted, and unrecorded


async def test_interrupted_before_it_is_a_job_nothing_of_it_is_left(bench: JobBench) -> None:
    sleep = a_sleep()
    call = asyncio.create_task(bench.background(f"sleep {sleep}"))
    await eventually(lambda: alive_with(sleep))
    call.cancel()

    with pytest.raises(asyncio.CancelledError):
        await call
    assert not alive_with(sleep)
    assert await bench.jobs.close() == () or bench.ended().status is JobStatus.STOPPED


async def test_interrupted_while_it_is_recorded_it_is_stopped_and_that_is_on_record(bench: JobBench) -> None:
    sleep = a_sleep()
    call = asyncio.create_task(bench.background(f"sleep {sleep}"))
    bench.on_written = lambda event: isinstance(event, JobStarted) and call.cancel()

    with pytest.raises(asyncio.CancelledError):
        await call
    assert not alive_with(sleep)
    assert (bench.ended().status, bench.ended().stopper) == (JobStatus.STOPPED, JobStopper.PERSON)


async def test_what_cannot_be_recorded_does_not_go_on(bench: JobBench) -> None:
    sleep = a_sleep()
    bench.ledger.trouble = "the disk is full"

    with pytest.raises(LedgerError, match="the disk is full"):
        await bench.background(f"sleep {sleep}")
    assert not alive_with(sleep)


async def test_what_it_prints_is_shown_while_it_runs_and_no_more_by_its_call(bench: JobBench) -> None:
    await bench.background("sleep 0.4; echo later; sleep 600")
    await eventually(lambda: bench.observer.of(JobProgressed))

    (progress,) = bench.observer.of(JobProgressed)
    assert isinstance(progress, JobProgressed)
    assert (progress.job_id, progress.text) == ("job-1", "later")
    assert not bench.observer.of(CallProgressed)
    await bench.jobs.close()


async def test_a_job_that_kills_its_supervisor_is_ended_all_the_same(bench: JobBench) -> None:
    sleep = a_sleep()
    await bench.background(f"sleep 0.4; kill -{signal.SIGKILL} $PPID; sleep {sleep}")
    await bench.ask("read", job_id="job-1", wait_secs=60)

    assert not alive_with(sleep)
    assert any(
        "the process that watches over the command was killed" in remark for remark in bench.ended().remarks
    )


# ---------------------------------------------------------------- what a model may get wrong


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"action": "kill"}, "action must be list, read or stop, not 'kill'"),
        ({"action": "read"}, "read needs job_id, as in job-1"),
        ({"action": "stop", "job_id": "job-9"}, "there is no job job-9: no command was sent to the background"),
    ],
)
async def test_what_cannot_be_done_is_an_error_that_says_why(
    bench: JobBench, arguments: dict[str, str], said: str
) -> None:
    with pytest.raises(ToolError, match=re.escape(said)):
        await bench.ask(**arguments)


async def test_background_must_be_true_or_false(bench: JobBench) -> None:
    with pytest.raises(ToolError, match="background must be true or false"):
        await bench.run("true", background="yes")
