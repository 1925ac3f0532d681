"""Every method of the remote control, asked of the running app."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from quorum.domain.calls.execution import Seal, ToolExecution
from quorum.domain.conversation.response import TOOL_USE, LlmResponse, ReasoningBlock, ToolUseBlock
from quorum.domain.errors import ConfigError
from quorum.domain.instructions.custom_command import CustomCommand
from quorum.domain.instructions.instruction import InstructionScope
from quorum.domain.replacing import replace
from quorum.domain.review.mode import Mode
from quorum.domain.review.questions import Approve, EarlierPlan, Reject, RuleOffer
from quorum.rpc.settings import LiveSettings
from quorum.tui.keys.slash_commands import COMMANDS
from quorum.tui.settings.effects import _AT_ONCE
from quorum.tui.tabs.tab_exchanges import NestedTooDeep, TabExchanges
from tests.support.builders import a_context
from tests.support.fake_agent import a_command, a_packet, a_request, hold, review, say
from tests.support.remote_stage import TOKEN, on_remote_stage

MAKE = a_command("make all")


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


# -- what there is --------------------------------------------------------------------------------------------


async def test_discovery_lists_every_method_with_its_parameters(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path) as stage:
        reply = await stage.call("rpc.discover")

    assert reply["api_version"] == 1
    assert reply["approval"] is False
    by_name = {method["name"]: method for method in reply["methods"]}
    assert set(by_name) == {
        *(
            "rpc.discover",
            "state.get",
            "panes.list",
            "pane.read",
            "input.send",
            "command.exec",
            "commands.list",
        ),
        *(
            "interaction.spawn",
            "interaction.activate",
            "hil.respond",
            "hil.seen",
            "screen.capture",
            "layout.get",
            "layout.set",
            "route.set",
        ),
        *("gate.decide", "keys.feed", "keymaps.list", "config.keys", "config.get", "config.set"),
    }
    width = next(param for param in by_name["screen.capture"]["params"] if param["name"] == "width")
    assert (width["least"], width["most"]) == (10, 500)
    assert [param["name"] for param in by_name["hil.respond"]["params"]][-1] == "token"


async def test_a_method_that_there_is_not_is_named(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path) as stage:
        error = await stage.refused("script.run")

    assert error.code == -32601
    assert "'script.run'" in str(error)


MISFITS: tuple[tuple[str, dict[str, object], str], ...] = (
    ("state.get", {"x": 1}, "no parameter 'x'"),
    ("pane.read", {"last": 0}, "from 1 to 200"),
    ("pane.read", {"last": True}, "of type integer"),
    ("pane.read", {"last": "5"}, "of type integer"),
    ("pane.read", {"tab": "tab-9"}, "no tab 'tab-9'"),
    ("input.send", {}, "'text' is missing"),
    ("input.send", {"text": " \n"}, "empty"),
    ("input.send", {"text": 5}, "of type string"),
    ("command.exec", {"command": "nope"}, "no command /nope"),
    ("command.exec", {"command": "/clear\n/clear"}, "one line"),
    ("command.exec", {"command": "/mode sometimes"}, "/mode needs one of"),
    ("interaction.spawn", {"form": "dance"}, "one of agent, ask"),
    ("interaction.spawn", {"form": "ask", "query": "/clear"}, "no command"),
    ("interaction.activate", {"interaction_id": "x"}, "no tab 'x'"),
    ("hil.respond", {"decision": "maybe", "digest": "x"}, "one of approve, reject"),
    ("hil.respond", {"decision": "reject"}, "'digest' is missing"),
    ("screen.capture", {"width": 9}, "from 10 to 500"),
    ("screen.capture", {"height": 301}, "from 5 to 300"),
    ("layout.set", {"preset": "odd"}, "one of auto"),
    ("route.set", {"content": "plan", "surface": "side"}, "one of panel"),
    ("keys.feed", {"keys": "abc"}, "array of strings"),
    ("keys.feed", {"keys": ["a", 5]}, "array of strings"),
    ("keys.feed", {"keys": ["a", "nope"]}, "key 2, 'nope'"),
    ("config.get", {"key": "tui.thema"}, "no setting 'tui.thema'"),
    ("config.set", {"key": "tui.theme", "value": "mud"}, "'mud' is not a value"),
    ("config.set", {"key": "tui.theme", "value": ["quorum"]}, "is not a value"),
    ("config.set", {"key": "tui.theme", "value": {}}, "is not a value"),
    ("config.set", {"key": "tui.layout", "value": 3}, "3 is not a value"),
    ("config.set", {"key": "tui.notifications", "value": "yes"}, "true or false"),
    ("config.set", {"key": "review.mode", "value": "lax"}, "'lax' is not a value"),
)


async def test_parameters_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path) as stage:
        for method, params, expected in MISFITS:
            error = await stage.refused(method, **params)

            assert (error.code, expected in str(error)) == (-32602, True), (method, params, error)
            assert (stage.prompt.text, stage.agent.prompts) == ("", []), (method, params)


async def test_the_state_tells_what_header_and_status_bar_tell(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path, hold()) as stage:
        at_rest = await stage.call("state.get")
        await stage.send("go")
        await stage.agent.reached.wait()
        working = await stage.call("state.get")

    assert (at_rest["ready"], at_rest["running"], at_rest["question"]) == (True, False, None)
    assert (at_rest["session_id"], at_rest["model"], at_rest["mode"]) == ("session-1", "fake/model-1", "ask")
    assert (at_rest["tab"], at_rest["screen"], at_rest["size"]) == ("tab-1", "chat", [100, 30])
    assert (working["running"], working["does"]) == (True, "working")


async def test_a_pane_is_read_from_its_end(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path, say("the answer")) as stage:
        await stage.send("the question")
        await stage.until(lambda: stage.agent.reports)
        await stage.shows("the answer")
        whole = await stage.call("pane.read", tab="tab-1")
        last = await stage.call("pane.read", last=1)

    assert [entry["kind"] for entry in whole["entries"]] == ["prompt", "answer"]
    assert whole["entries"][0]["text"] == "the question"
    assert last["entries"] == [{"kind": "answer", "text": "the answer ", "finished": True}]
    assert last["of"] == 2


async def test_the_screen_is_captured_as_it_is(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path) as stage:
        plain = await stage.call("screen.capture")
        styled = await stage.call("screen.capture", styles=True)
        shown = stage.text().split("\n")

    assert (plain["width"], plain["height"], len(plain["lines"])) == (100, 30, 30)
    assert plain["lines"] == [line.rstrip() for line in shown]
    assert any("\x1b[" in line for line in styled["lines"])
    assert not any("\x1b" in line for line in plain["lines"])


async def test_the_screen_is_captured_at_another_size_and_stays_what_it_was(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path) as stage:
        small = await stage.call("screen.capture", width=50, height=12)
        again = await stage.call("screen.capture")

    assert (small["width"], small["height"], len(small["lines"])) == (50, 12, 12)
    assert all(len(line) <= 50 for line in small["lines"])
    assert (again["width"], again["height"]) == (100, 30)


async def test_commands_are_listed_with_what_they_take(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path) as stage:
        reply = await stage.call("commands.list")

    assert [command["name"] for command in reply] == [command.name for command in COMMANDS]
    assert {command["name"] for command in reply if command["power"] == "approval"} == {
        "add-dir",
        "agent",
        "fast",
        "goal",
        "mode",
        "plan",
        "read-calls",
        "scope",
        "stage",
        "unstage",
        "worktree",
    }


async def test_keys_are_listed_room_by_room(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path) as stage:
        reply = await stage.call("keymaps.list")

    assert {"name": "toggle_fold", "where": "Everywhere"}.items() <= next(
        action for action in reply if action["keys"] == ["ctrl+o"]
    ).items()
    assert any(action["name"] == "review_approve" and action["keys"] == ["y"] for action in reply)


# -- what is done ---------------------------------------------------------------------------------------------


async def test_a_prompt_is_sent_as_if_it_were_typed_and_leaves_the_draft_alone(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path, say("well")) as stage:
        stage.prompt.replace_text("my draft")
        await stage.call("input.send", text="go on,\nplease")
        await stage.until(lambda: stage.agent.reports)

        assert stage.agent.prompts == ["go on,\nplease"]
        assert stage.prompt.text == "my draft"


async def test_prompts_wait_for_their_turn_and_not_without_end(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path, hold()) as stage:
        await stage.call("input.send", text="first")
        await stage.agent.reached.wait()
        for number in range(16):
            assert (await stage.call("input.send", text="next"))["waiting"] == number + 1
        error = await stage.refused("input.send", text="one more")

    assert (error.code, error.reason) == (-32000, "full")


@pytest.mark.long
async def test_a_session_that_takes_no_prompt_says_so(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path) as stage:
        stage.agent.in_use = "process 7 has it"
        error = await stage.refused("input.send", text="go")

        assert error.reason == "read_only"
        assert stage.prompt.text == ""


@pytest.mark.long
async def test_a_command_is_carried_out_or_refused_and_what_it_opens_is_named(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path) as stage:
        error = await stage.refused("command.exec", command="undo")
        opened = await stage.call("command.exec", command="/help")
        covered = await stage.refused("command.exec", command="/clear")

    assert str(error) == "there is no turn to undo"
    assert opened["screen"] == "help"
    assert covered.reason == "covered"


async def test_a_command_may_come_as_input_too(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path) as stage:
        await stage.call("input.send", text="/mode read-only")

        assert stage.agent.mode is Mode.READ_ONLY


@pytest.mark.long
async def test_the_app_is_left_from_anywhere(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path) as stage:
        await stage.call("command.exec", command="/help")
        await stage.call("command.exec", command="quit")
        await stage.until(lambda: stage.app._exit)


@pytest.mark.long
async def test_an_interaction_is_a_tab_that_can_be_opened_and_brought_to_the_front(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path) as stage:
        asked = await stage.call("interaction.spawn", form="ask", query="why?")
        agent = await stage.call("interaction.spawn", form="agent")
        await stage.until(lambda: len(stage.agents) == 3)
        panes = await stage.call("panes.list")
        await stage.call("interaction.activate", interaction_id="tab-1")
        front = await stage.call("state.get")

        assert (asked["interaction_id"], agent["interaction_id"]) == ("tab-2", "tab-3")
        assert [(pane["tab"], pane["in_front"]) for pane in panes] == [
            ("tab-1", False),
            ("tab-2", False),
            ("tab-3", True),
        ]
        assert front["tab"] == "tab-1"
        await stage.until(lambda: stage.agents[1].prompts == ["why?"])


async def test_tabs_are_not_opened_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quorum.rpc.app_port.MOST_TABS", 2)
    async with on_remote_stage(tmp_path) as stage:
        await stage.call("interaction.spawn", form="agent")
        error = await stage.refused("interaction.spawn", form="agent")

    assert error.reason == "full"


@pytest.mark.long
async def test_a_prompt_may_be_for_a_tab_behind_and_a_command_may_not(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path) as stage:
        await stage.call("interaction.spawn", form="agent")
        await stage.call("input.send", text="back there", tab="tab-1")
        error = await stage.refused("command.exec", command="clear", tab="tab-1")

        await stage.until(lambda: stage.agents[0].prompts == ["back there"])
        assert error.reason == "not_in_front"


async def test_a_rejection_needs_no_token_and_its_reason_reaches_the_model(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path, review(a_request(MAKE))) as stage:
        await stage.send("go")
        await stage.asked()
        question = (await stage.call("state.get"))["question"]
        reply = await stage.call("hil.respond", decision="reject", digest=MAKE.digest, reason="too risky")
        await stage.until(lambda: stage.agent.answers)

        assert (question["kind"], question["digest"]) == ("review", MAKE.digest)
        assert question["packet"] == json.loads(MAKE.to_canonical_json())
        assert reply == {"answered": "reject", "digest": MAKE.digest}
        assert stage.agent.answers == [Reject("too risky")]
        await stage.unasked()


@pytest.mark.long
async def test_a_question_tells_what_its_dialog_offers(tmp_path: Path) -> None:
    offer = RuleOffer(rules=("run_command(make *)",), approvals=2, covers=("make lint",))
    earlier = EarlierPlan(number=1, text="# Plan\n", ballots=())
    asked = replace(a_request(MAKE, preamble="Now I build."), offer=offer, earlier_plans=(earlier,))
    async with on_remote_stage(tmp_path, review(asked)) as stage:
        await stage.send("go")
        await stage.asked()
        question = (await stage.call("state.get"))["question"]
        await stage.call("hil.respond", decision="reject", digest=MAKE.digest)
        await stage.unasked()

    assert question["offer"] == {"rules": ["run_command(make *)"], "approvals": 2, "covers": ["make lint"]}
    assert question["preamble"] == "Now I build."
    assert question["plan"] is None
    assert question["earlier_plans"] == [{"round": 1, "text": "# Plan\n", "ballots": []}]


@pytest.mark.long
async def test_the_question_about_a_plan_has_the_document_that_its_dialog_shows(tmp_path: Path) -> None:
    task = {"id": "parser", "description": "read it", "writes": ["src/**"]}
    plan = a_packet("create_plan", {"objective": "a parser", "reasoning": "", "tasks": [task]}, Seal(cwd="/w"))
    async with on_remote_stage(tmp_path, review(a_request(plan)), token=TOKEN) as stage:
        await stage.send("go")
        await stage.asked()
        question = (await stage.call("state.get"))["question"]
        await stage.call("hil.respond", decision="approve", digest=plan.digest, token=TOKEN)
        await stage.until(lambda: stage.agent.answers)

        assert question["plan"].startswith("# Plan\n\na parser\n")
        assert "### [x] parser" in question["plan"]
        assert stage.agent.answers == [Approve(plan.digest)]
        await stage.unasked()


@pytest.mark.long
async def test_an_answer_goes_through_what_is_open_over_the_question(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path, review(a_request(MAKE))) as stage:
        await stage.send("go")
        await stage.asked()
        await stage.pilot.press("f1")
        await stage.call("hil.respond", decision="reject", digest=MAKE.digest)
        await stage.until(lambda: stage.agent.answers)

        assert stage.agent.answers == [Reject(None)]
        await stage.unasked()


async def test_where_nothing_is_asked_nothing_is_answered(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path) as stage:
        error = await stage.refused("hil.respond", decision="reject", digest=MAKE.digest)

    assert (error.code, error.reason) == (-32000, "nothing_asked")


@pytest.mark.long
async def test_keys_are_pressed_one_after_the_other(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path, say("well")) as stage:
        reply = await stage.call("keys.feed", keys=[*"hi", "left", "X", "ctrl+j", "?"])
        assert stage.prompt.text == "hX\n?i"
        await stage.call("keys.feed", keys=["enter"])
        await stage.until(lambda: stage.agent.prompts)

        assert reply == {"pressed": 6}
        assert stage.agent.prompts == ["hX\n?i"]


async def test_no_key_is_pressed_where_one_of_them_is_not_known(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path) as stage:
        await stage.refused("keys.feed", keys=["a", "b", "nope"])

        assert stage.prompt.text == ""


@pytest.mark.long
async def test_keys_open_and_close_what_only_shows(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path) as stage:
        await stage.call("keys.feed", keys=["f1"])
        opened = await stage.call("state.get")
        await stage.call("keys.feed", keys=["m", "escape"])
        closed = await stage.call("state.get")

    assert (opened["screen"], closed["screen"]) == ("help", "chat")


async def test_the_layout_is_shown_and_set(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path) as stage:
        before = await stage.call("layout.get")
        after = await stage.call("layout.set", preset="minimal")

        assert (before["preset"], after["preset"], stage.app.layout_wish) == ("auto", "minimal", "minimal")


async def test_the_side_panel_is_shown_beside_the_transcript_or_nowhere(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path) as stage:
        panel = stage.app.chat.side_panel
        hidden = await stage.call("route.set", content="panel", surface="none")
        again = await stage.call("route.set", content="panel", surface="none")
        assert (hidden, again, panel.is_wanted) == (again, hidden, False)
        shown = await stage.call("route.set", content="panel", surface="side")

    assert shown == {"content": "panel", "surface": "side", "seen": False}  # nothing to show yet
    assert panel.is_wanted


# -- settings -------------------------------------------------------------------------------------------------


async def test_settings_are_listed_and_shown_with_what_counts_now(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path) as stage:
        keys = await stage.call("config.keys")
        theme = await stage.call("config.get", key="tui.theme")
        turns = await stage.call("config.get", key="agent.max_tool_turns")

    assert {"key": "agent.max_tool_turns", "at_once": False} in keys
    assert {key["key"] for key in keys if key["at_once"]} <= set(LiveSettings.KEYS)
    assert theme == {"key": "tui.theme", "value": '"quorum"', "origin": "default", "present": "quorum"}
    assert "present" not in turns


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("tui.theme", "textual-light"),
        ("tui.layout", "wide"),
        ("tui.notifications", False),
        ("models.decision", "fake/model-2"),
        ("review.mode", "read-only"),
    ],
)
async def test_what_the_app_can_change_at_once_is_changed_at_once(
    tmp_path: Path, key: str, value: object
) -> None:
    async with on_remote_stage(tmp_path) as stage:
        assert (await stage.call("config.set", key=key, value=value))["present"] == value
        assert (await stage.call("config.get", key=key))["present"] == value


async def test_what_it_cannot_is_refused_with_the_remedy(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path) as stage:
        error = await stage.refused("config.set", key="agent.max_tool_turns", value=3)

    assert error.reason == "not_at_once"
    assert "quorum.toml" in str(error)


async def test_a_model_that_cannot_be_had_is_shown(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path) as stage:
        stage.agent.refused.add("fake/other")
        error = await stage.refused("config.set", key="models.decision", value="fake/other")

        assert (error.reason, stage.agent.model) == ("not_possible", "fake/model-1")


async def test_settings_that_cannot_be_read_are_a_refusal(tmp_path: Path) -> None:
    def broken() -> list[object]:
        raise ConfigError("line 3 is not TOML")

    async with on_remote_stage(tmp_path, settings=broken) as stage:  # type: ignore[arg-type]
        error = await stage.refused("config.keys")

    assert (error.code, str(error)) == (-32000, "the settings cannot be read: line 3 is not TOML")


def a_custom_command(body: str) -> CustomCommand:
    return CustomCommand(
        name="fix-issue",
        scope=InstructionScope.PROJECT,
        file="/project/.claude/commands/fix-issue.md",
        label=".claude/commands/fix-issue.md",
        digest="0" * 64,
        body=body,
        description="Fix an issue",
    )


@pytest.mark.parametrize("body", ["Fix $1", "!touch made", "!`touch made`", "/mode auto", "# Always use tabs."])
async def test_a_custom_command_is_a_prompt_that_needs_no_approval_and_carries_nothing_out(
    tmp_path: Path, body: str
) -> None:
    """What its file says goes to the model: no line of it is taken for one that the person typed."""
    async with on_remote_stage(tmp_path) as stage:
        stage.agent.custom_commands.there = (a_custom_command(body),)
        listed = await stage.call("commands.list")
        await stage.call("command.exec", command="fix-issue 12")
        await stage.until(lambda: stage.agent.prompts)

        assert {"name": "fix-issue", "power": "free"}.items() <= next(
            row for row in listed if row["name"] == "fix-issue"
        ).items()
        assert stage.agent.prompts == ["/fix-issue 12"]
        assert stage.agent.commands == []
        assert stage.agent.mode is Mode.ASK


# -- what the app refuses -------------------------------------------------------------------------------------


@pytest.mark.long(after=2)
@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("undo", "there is no turn"),
        ("model nonsense", "there is no effort nonsense"),
        ("copy code 9", "there"),
        ("retry", "there is no turn to continue yet"),
        ("result 7", "there is no tab 7"),
        ("close", "this is the only tab"),
        ("output 3", "fewer than 3 outputs"),
    ],
)
async def test_what_the_app_refuses_is_the_clients_error(tmp_path: Path, command: str, reason: str) -> None:
    async with on_remote_stage(tmp_path) as stage:
        error = await stage.refused("command.exec", command=command)

    assert error.reason == "refused"
    assert reason in str(error)


async def test_a_tab_that_the_app_does_not_open_is_an_error_and_its_prompt_goes_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise NestedTooDeep("sessions are nested too deep")

    monkeypatch.setattr(TabExchanges, "share", refuse)
    async with on_remote_stage(tmp_path) as stage:
        for form in ("agent", "ask", "discuss", "debate", "review"):
            error = await stage.refused("interaction.spawn", form=form, query="why?")

            assert error.reason == "refused"
            assert "nested too deep" in str(error)
        assert stage.agent.prompts == []
        assert len(await stage.call("panes.list")) == 1


async def test_after_an_ensemble_that_debates_one_model_can_be_chosen_again(tmp_path: Path) -> None:
    async with on_remote_stage(tmp_path) as stage:
        for command in ("ensemble", "strategy debate", "solo"):
            await stage.call("command.exec", command=command)
        error = await stage.refused("command.exec", command="strategy debate")

    assert "a debate takes two models" in str(error)


@pytest.mark.long(after=3)
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("agent.phase_scope", "plan-only"),
        ("agent.consensus_level", "ensemble"),
        ("tui.editing", "vim"),
        ("tui.enter_while_running", "steer"),
        ("tui.notify_by", "bell"),
        ("tui.mark_approve_for_edits", False),
        ("tui.layout", "wide"),
    ],
)
async def test_each_setting_that_can_change_at_once_is_changed(tmp_path: Path, key: str, value: object) -> None:
    async with on_remote_stage(tmp_path) as stage:
        reply = await stage.call("config.set", key=key, value=value)

        assert reply == {"key": key, "present": value}


async def test_what_the_app_goes_by_at_once_can_be_set_here() -> None:
    known = {key for key in _AT_ONCE if not key.startswith("tui.keys.")}

    assert known <= set(LiveSettings.KEYS)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("config.set", {"key": "agent.phase_scope", "value": "fast"}),
        ("config.set", {"key": "tui.mark_approve_for_edits", "value": True}),
        ("command.exec", {"command": "fast"}),
        ("command.exec", {"command": "config review.mode auto"}),
    ],
)
async def test_what_loosens_reviews_takes_the_token(
    tmp_path: Path, method: str, params: dict[str, object]
) -> None:
    async with on_remote_stage(tmp_path) as stage:
        assert (await stage.refused(method, **params)).reason == "needs_approval"


async def test_the_calls_of_the_newest_batch_are_told_as_their_records_have_them(tmp_path: Path) -> None:
    thought = LlmResponse(
        content=(
            ReasoningBlock(provider="p", payload={}, text="look first"),
            ToolUseBlock(id="c1", name="read_file", input={}),
            ToolUseBlock(id="c2", name="write_file", input={}),
        ),
        stop_reason=TOOL_USE,
    )
    runs, waits = (
        ToolExecution(context=a_context(place, call_id=call.native_id), call=call)
        for place, call in enumerate(thought.tool_calls())
    )
    runs.start()
    runs.progress.append("half of it")
    waits.waiting_for = (0,)
    async with on_remote_stage(tmp_path) as stage:
        stage.agent.batch = (runs, waits)
        first, second = (await stage.call("state.get"))["calls"]

    assert (first["tool"], first["status"], first["progress"]) == ("read_file", "executing", "half of it")
    assert (first["reasoning"], second["reasoning"]) == ("look first", "")
    assert (second["status"], second["waiting_for"], second["outcome"]) == ("queued", [0], None)
