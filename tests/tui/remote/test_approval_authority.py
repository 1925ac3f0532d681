from __future__ import annotations

import pytest
from textual.binding import Binding

from quorum.rpc.json_rpc import RpcError
from quorum.rpc.power import RemoteApproval, find_power, find_risk
from quorum.tui.keys.slash_commands import COMMANDS
from quorum.tui.screens.effects.effects_screen import EffectsScreen

TOKEN = "t0ken-of-this-start"


def test_without_a_token_made_at_the_start_nobody_may_approve() -> None:
    hand = RemoteApproval(None).hand({"token": "anything"})

    with pytest.raises(RpcError, match="without --listen-approve"):
        hand.demand("approving")


def test_who_does_not_show_the_token_may_not_approve() -> None:
    with pytest.raises(RpcError, match="say the 'token'") as refusal:
        RemoteApproval(TOKEN).hand({}).demand("approving")

    assert refusal.value.reason == "needs_approval"


@pytest.mark.parametrize("wrong", ["", TOKEN[:-1], TOKEN + "x", 5, "tökén", True])
def test_a_wrong_token_is_shown_at_once_whatever_is_asked(wrong: object) -> None:
    with pytest.raises(RpcError) as refusal:
        RemoteApproval(TOKEN).hand({"token": wrong})

    assert refusal.value.reason == "wrong_token"


def test_who_shows_the_token_may_approve() -> None:
    RemoteApproval(TOKEN).hand({"token": TOKEN}).demand("approving")


@pytest.mark.parametrize("params", [{"text": f"say {TOKEN}"}, {"keys": [TOKEN]}, {TOKEN: 1}])
def test_a_token_in_the_wrong_place_goes_no_further(params: dict[str, object]) -> None:
    with pytest.raises(RpcError, match="in another parameter"):
        RemoteApproval(TOKEN).hand({"token": TOKEN, **params})


@pytest.mark.parametrize(
    "text", ["hello", "a /mode auto b", "/usr/bin is a path", "/cost", "/mode ask", "/mode read-only"]
)
def test_prompts_and_harmless_commands_are_free(text: str) -> None:
    assert find_risk(text) == ""


@pytest.mark.parametrize(
    "text", ["/export CLAUDE.md", "/export ~/x.json", "/mcp restart issues", "/mcp login issues"]
)
def test_commands_that_write_or_start_what_a_client_names_take_approval(text: str) -> None:
    assert find_risk(text)


@pytest.mark.parametrize("text", ["/export", "/mcp"])
def test_without_a_name_they_are_free(text: str) -> None:
    assert find_risk(text) == ""


@pytest.mark.parametrize("text", ["!ls", "  !ls", "/mode auto", " /mode accept-edits", "/mode quorum"])
def test_own_commands_and_modes_that_ask_less_take_approval(text: str) -> None:
    assert find_risk(text)


@pytest.mark.parametrize("text", ["/cost", "/", "/mo", " /mode ask", "!"])
def test_what_is_typed_key_by_key_takes_approval_as_soon_as_it_is_a_command(text: str) -> None:
    assert find_risk(text, typed=True)


@pytest.mark.parametrize(
    "action",
    ["cycle_mode", "set_mode('auto')", "set_mode", "set_mode(name)", "open_palette", "anything_new", "; x"],
)
def test_what_loosens_and_what_is_not_known_takes_approval(action: str) -> None:
    assert find_power(action) == "approval"


@pytest.mark.parametrize("binding", EffectsScreen.BINDINGS, ids=lambda binding: str(binding.action))
def test_no_key_of_a_review_of_effects_is_pressed_without_approval(binding: Binding) -> None:
    assert find_power(binding.action) == "approval"


@pytest.mark.parametrize("action", ["app.suspend_process", "screen.edit_outside", "begin_chord"])
def test_the_terminal_is_never_handed_to_another_program(action: str) -> None:
    assert find_power(action) == "never"


def test_only_commands_that_loosen_reviews_or_change_branches_take_approval() -> None:
    taking = {command.name for command in COMMANDS if find_power(command.action) != "free"}

    assert taking == {
        *("add-dir", "agent", "fast", "goal", "mode", "plan"),
        *("read-calls", "scope", "stage", "unstage", "worktree"),
    }
