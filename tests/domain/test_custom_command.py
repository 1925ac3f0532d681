"""Custom slash commands: how they are named, and how arguments take their places."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.instructions.custom_command import (
    CustomCommand,
    choose_names,
    fill_placeholders,
    index_commands,
    is_command_name,
    parse_command,
)
from quorum.domain.instructions.instruction import InstructionScope


def command(
    body: str = "do it",
    *,
    name: str = "fix",
    scope: InstructionScope = InstructionScope.PROJECT,
    file: str = "",
    parameters: tuple[str, ...] = (),
) -> CustomCommand:
    return CustomCommand(
        name=name,
        scope=scope,
        file=file or f"/{scope}/{name}.md",
        label=name,
        digest="0" * 64,
        parameters=parameters,
        body=body,
    )


@pytest.mark.parametrize(
    ("body", "arguments", "text"),
    [
        ("Fix $ARGUMENTS.", "issue 12", "Fix issue 12."),
        ("Fix $1 for $2.", "12 'the parser'", "Fix 12 for the parser."),
        ("Fix $1 for $2.", "12", "Fix 12 for ."),
        ("Keep \\$1 and \\$ARGUMENTS.", "", "Keep $1 and $ARGUMENTS."),
        ("Echo $HOME and $(pwd).", "", "Echo $HOME and $(pwd)."),
        ("Fix it.", "now", "Fix it.\n\nArguments: now"),
        ("Fix it.", "", "Fix it."),
        ("On $BRANCH.", "BRANCH=main", "On main."),
        ("Say $1.", "it's", "Say it's."),
        ("$1 and $10", "a b c d e f g h i j", "a and j"),
    ],
)
def test_arguments_take_their_places(body: str, arguments: str, text: str) -> None:
    assert fill_placeholders(command(body), arguments) == text


def test_named_arguments_are_given_by_place_or_by_name() -> None:
    review = command("Review $number on $branch.", parameters=("number", "branch"))

    assert fill_placeholders(review, "12 main") == "Review 12 on main."
    assert fill_placeholders(review, "branch=main 12") == "Review 12 on main."
    assert fill_placeholders(review, "") == "Review  on ."


def test_what_an_argument_says_is_no_place_again() -> None:
    assert fill_placeholders(command("$1 then $2"), "'$2' '$1 $ARGUMENTS'") == "$2 then $1 $ARGUMENTS"


def test_shell_commands_in_the_text_are_left_for_the_model_to_run() -> None:
    text = fill_placeholders(command("State:\n!`git status`"), "")

    assert text.startswith("State:\n!`git status`")
    assert "run it with run_command" in text


def test_a_shell_command_in_an_argument_is_only_text() -> None:
    assert fill_placeholders(command("Explain $1"), "'!`rm -rf .`'") == "Explain !`rm -rf .`"


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_can_be_filled_with_any_arguments(body: str, arguments: str) -> None:
    fill_placeholders(command(body), arguments)


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("/fix", ("fix", "")),
        ("/fe:fix  12 x ", ("fe:fix", "12 x")),
        ("/fix 12\nand more", ("fix", "12\nand more")),
        (" /fix", None),
        ("/etc/hosts is broken", None),
        ("/", None),
        ("/-x", None),
        ("/a\x1b[2J", None),
        ("fix", None),
    ],
)
def test_a_prompt_is_a_command_where_its_first_word_says_so(
    prompt: str, expected: tuple[str, str] | None
) -> None:
    typed = parse_command(prompt)

    assert (None if typed is None else (typed.name, typed.arguments)) == expected


@pytest.mark.parametrize("name", ["a b", "../x", "a/b", "", ":", "a:", "-a", "a\u202eb", "x" * 200])
def test_what_cannot_be_typed_plainly_is_no_name(name: str) -> None:
    assert not is_command_name(name)


def test_a_built_in_name_is_never_taken_but_the_qualified_one_works() -> None:
    quit_ = command(name="quit")

    assert dict(index_commands([quit_], frozenset({"quit"}))) == {"project:quit": quit_}


def test_of_two_of_one_name_the_persons_own_has_it_and_the_nearer_of_a_project() -> None:
    outer, nearer = command(file="/a"), command(file="/b")
    own = command(scope=InstructionScope.USER)

    assert index_commands([outer, nearer], frozenset())["fix"] is nearer
    both = index_commands([outer, nearer, own], frozenset())
    assert both["fix"] is own
    assert both["project:fix"] is nearer
    assert [name for name, _ in choose_names(both)] == ["fix", "project:fix"]


def test_a_folder_named_like_a_scope_takes_no_name_of_that_scope() -> None:
    posing = command(name="user:fix")

    assert "user:fix" not in index_commands([posing], frozenset())
