"""The cards of the person's own commands, in what the transcript is built from."""

from __future__ import annotations

from quorum.application.view.entries import Batch, Call, Phase, PromptEntry
from quorum.application.view.session_view import SessionView
from quorum.domain.calls.execution import Outcome
from quorum.domain.conversation.history import UserMessage
from quorum.domain.events import event as ev


def started(command_id: str = "c", *, told: bool = True) -> ev.UserCommandStarted:
    return ev.UserCommandStarted(command_id=command_id, command="git status", told=told)


def finished(outcome: Outcome = Outcome.OK, code: int | None = 0, **more: object) -> ev.UserCommandFinished:
    return ev.UserCommandFinished(
        command_id="c",
        outcome=outcome,
        exit_code=code,
        output="clean\n",
        duration_secs=0.5,
        **more,  # type: ignore[arg-type]
    )


def the_call(transcript: SessionView) -> Call:
    (batch,) = [entry for entry in transcript.entries if isinstance(entry, Batch)]
    return batch.calls[0]


def test_a_card_shows_what_runs_its_last_lines_and_how_it_ended() -> None:
    transcript = SessionView()
    transcript.apply(started())
    transcript.apply(ev.UserCommandProgressed(command_id="c", text="half"))
    transcript.apply(ev.UserCommandProgressed(command_id="c", text="whole"))
    call = the_call(transcript)
    assert (call.tool, call.arguments, call.progress.list_lines()) == (
        "!",
        {"command": "git status"},
        ["whole"],
    )
    assert transcript.live

    transcript.apply(finished(Outcome.ERROR, 2, remarks=("one was ended",), blob_id="b", size_bytes=9))
    assert call.output is not None
    assert call.output.head == "clean\nexit code 2\none was ended"
    assert (call.outcome, call.duration, call.stored is not None) == (Outcome.OK, 0.5, True)
    assert not transcript.live


def test_one_that_is_kept_from_the_model_is_marked() -> None:
    transcript = SessionView()
    transcript.apply(started(told=False))
    assert the_call(transcript).tool == "!!"


def test_one_of_the_past_without_an_end_rests_until_its_end_is_shown() -> None:
    transcript = SessionView()
    transcript.begin_past()
    transcript.apply(started())
    transcript.end_past("the process ended here")
    assert the_call(transcript).phase is Phase.ABANDONED
    assert not transcript.live
    transcript.apply(finished(Outcome.UNKNOWN, None))
    assert (the_call(transcript).phase, the_call(transcript).outcome) == (Phase.FINISHED, Outcome.UNKNOWN)


def test_clearing_the_screen_keeps_what_runs_in_sight() -> None:
    transcript = SessionView()
    transcript.apply(started())
    cleared = transcript.create_successor()
    cleared.apply(finished())
    assert the_call(cleared).outcome is Outcome.OK


def test_taking_a_turn_back_does_not_strike_out_what_the_person_ran_and_does_what_they_said_into_it() -> None:
    transcript = SessionView()
    transcript.apply(ev.TurnStarted(prompt="go"))
    transcript.apply(started())
    transcript.apply(finished())
    transcript.apply(ev.MessageAdded(message=UserMessage("not that"), steers=True))
    transcript.apply(ev.MessageAdded(message=UserMessage("The person ran"), command_id="c"))
    transcript.apply(ev.SessionRewound(turn=0, conversation=True, files=False))

    prompt, card, said, _ = transcript.entries
    assert [prompt.undone, card.undone, said.undone] == [True, False, True]
    assert isinstance(said, PromptEntry)
    assert (said.text, said.steers) == ("not that", True)
