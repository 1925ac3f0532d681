import pytest

from quorum.domain.calls.hook_points import HookPoint
from quorum.infrastructure.config.keys import find_key, list_keys
from quorum.infrastructure.config.report import show
from quorum.infrastructure.config.schema import Settings
from quorum.infrastructure.config.toml_text import Position, format_key
from tests.support.settings_machine import Machine

_TWO = """
[[hooks]]
event = "before_tool_call"
command = ["check"]

[[hooks]]
event = ["on_message_send", "on_turn_end"]
python = "package.module:Class"
[hooks.settings]
limit = 3
words = { a = [1] }
"""


def test_each_table_of_an_array_is_one_hook_in_the_order_of_the_file(machine: Machine):
    machine.user(_TWO)

    first, second = machine.load().settings.hooks

    assert (first.event, first.command) == (HookPoint.BEFORE_TOOL_CALL, ("check",))
    assert second.event == (HookPoint.ON_MESSAGE_SEND, HookPoint.ON_TURN_END)
    assert second.settings == {"limit": 3, "words": {"a": [1]}}


def test_what_is_shown_of_an_array_loads_as_the_same_settings(machine: Machine):
    machine.user(_TWO)
    before = machine.load().settings

    machine.user(show(machine.load()))

    assert machine.load().settings == before
    assert before != Settings()


def test_an_array_has_one_source(machine: Machine):
    machine.user(_TWO)

    assert machine.load().origins["hooks"] == str(machine.user_file)


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        (
            _TWO + "[[hooks]]\nevent = 'on_turn_end'\ncomand = ['x']\n",
            14,
            "there is no setting hooks[2].comand; did you mean hooks[2].command?",
        ),
        ("[[hooks]]\nevent = 'on_turn_end'\nzzz = 1", 3, "[[hooks]] knows event, command, python, settings"),
        ("[[hooks]]\nevent = 'on_turn_end'\ncommand = 'x'", 3, "hooks[0].command must be a list of strings"),
        ("\n[[hooks]]\ncommand = ['x']", 2, "hooks[0].event is missing; it must be one of on_message_send"),
        ("[[hooks]]\ncommand = ['x']\nevent = 'later'", 3, 'or a list of them, not "later"'),
        ("[[hooks]]\ncommand = ['x']\nevent = []", 3, "hooks[0].event must be one of on_message_send"),
        (_TWO + "'a b' = 1", 12, '"a b" cannot be a name in [hooks[1].settings]'),
        ("hooks = [{ event = 'on_turn_end' }]", 1, "hooks[0] needs either command ="),
        ("hooks = [\n  1\n]", 1, "hooks must be a list of tables, each of them headed [[hooks]], not [1]"),
        (
            "[[hooks]]\nevent = 'on_session_end'\ncommand = ['x']\nmatcher = 'a'",
            1,
            'has a matcher, which only goes with dialect = "claude"',
        ),
        (
            "[[hooks]]\nevent = 'on_session_end'\npython = 'x:Y'\ndialect = 'claude'",
            1,
            "has a dialect, which only a command has",
        ),
        ("[hooks]\nevent = 'on_turn_end'", 1, "hooks must be a list of tables"),
        ("command = 1", 1, "there is no setting command; did you mean hooks[0].command?"),
    ],
)
def test_a_wrong_table_is_reported_with_its_position_and_line(
    machine: Machine, text: str, line: int, sentence: str
):
    machine.user(text)

    refusal = machine.refusal()

    assert refusal.startswith(f"{machine.user_file}:{line}: ")
    assert sentence in refusal


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ("", "hooks[0] needs either command ="),
        ("command = ['x']\npython = 'm:C'", "hooks[0] needs either command ="),
        ("command = ['x']\nsettings = { a = 1 }", "hooks[0] has settings, which only a hook in Python takes"),
        ("python = 'm'", 'hooks[0].python must be "module:Class"'),
    ],
)
def test_a_hook_runs_exactly_one_thing(machine: Machine, keys: str, sentence: str):
    machine.user(f"[[hooks]]\nevent = 'on_turn_end'\n{keys}")

    assert sentence in machine.refusal()


def test_all_problems_of_all_tables_are_reported(machine: Machine):
    machine.user("[[hooks]]\nevent = 1\nrisk = 'some'\n[[hooks]]\npriority = 'x'\n")

    lines = machine.refusal().splitlines()

    assert [line.split(" ")[1] for line in lines] == [
        "hooks[0].event",
        "hooks[0].risk",
        "hooks[1].priority",
        "hooks[1].event",
    ]


def test_a_variable_cannot_reach_into_an_array(machine: Machine):
    machine.user(_TWO)
    machine.environ["QUORUM_HOOKS__0__ENABLED"] = "false"

    assert "hooks must be a list of tables" in machine.refusal()


def test_the_keys_of_an_array_are_keys_of_the_schema():
    paths = [key.path for key in list_keys()]

    assert ("hooks",) in paths
    assert ("hooks", "*", "command") in paths
    assert find_key(("hooks", Position(3), "command")).expected == "a list of strings"


def test_a_position_is_no_name():
    assert format_key(("hooks", Position(0), "command")) == "hooks[0].command"
    assert format_key(("hooks", "0", "command")) == "hooks.0.command"
