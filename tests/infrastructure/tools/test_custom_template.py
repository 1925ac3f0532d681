from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.errors import ConfigError, ToolError
from quorum.infrastructure.config.command_template import CommandTemplate, CustomParameter


def a_template(*command: str, **types: str) -> CommandTemplate:
    return CommandTemplate(command, [CustomParameter(name=n, type=t) for n, t in types.items()])  # type: ignore[arg-type]


def filled(template: CommandTemplate, **arguments: object) -> tuple[str, ...]:
    return template.fill_words(arguments)[1:]  # type: ignore[arg-type]


@pytest.mark.parametrize("value", ["a b", "'\"", "$(id) `id` $HOME", "; rm -rf / #", "a\nb", "*", "", " - "])
def test_a_value_is_one_word_whatever_a_shell_would_make_of_it(value: str):
    template = a_template("p", "{x}", "--is={x}", x="string")

    assert filled(template, x=value) == (value, f"--is={value}")


@given(st.text().filter(lambda text: not text.startswith("-") and "\0" not in text and text.isprintable()))
def test_any_value_stays_as_it_is(value: str):
    assert filled(a_template("p", "{x}", x="string"), x=value) == (value,)


def test_a_value_that_looks_like_a_placeholder_is_never_expanded_again():
    template = a_template("p", "{a}", "{b}", "{a}{b}", a="string", b="string")

    assert filled(template, a="{b}", b="{a}{{b}}") == ("{b}", "{a}{{b}}", "{b}{a}{{b}}")


def test_a_missing_value_drops_its_element_or_leaves_nothing_in_it():
    template = a_template("p", "{a}", "--only={a}", "{b}", "end", a="string", b="array")

    assert filled(template) == ("--only=", "end")


def test_an_array_becomes_one_word_for_each_of_its_values():
    assert filled(a_template("p", "{a}", "end", a="array"), a=["x y", "", "{a}"]) == ("x y", "", "{a}", "end")


def test_an_empty_array_gives_no_word():
    assert filled(a_template("p", "{a}", a="array"), a=[]) == ()


@pytest.mark.parametrize(
    ("kind", "value", "word"),
    [
        ("number", 1.5, "1.5"),
        ("integer", 7, "7"),
        ("integer", 7.0, "7"),
        ("boolean", True, "true"),
        ("boolean", False, "false"),
    ],
)
def test_numbers_and_booleans_are_written_as_in_json(kind: str, value: object, word: str):
    assert filled(a_template("p", "{x}", "n={x}", x=kind), x=value) == (word, f"n={word}")


def test_doubled_braces_are_braces():
    template = a_template("p", '{{"a": {x}}}', "{{x}}", "{{{x}}}", x="string")

    assert filled(template, x="1") == ('{"a": 1}', "{x}", "{1}")


@pytest.mark.parametrize(
    ("element", "kind", "value"),
    [
        ("{x}", "string", "-rf"),
        ("{x}", "path", "--output=/etc/passwd"),
        ("{x}", "integer", -9),
        ("{x}", "array", ["fine", "-x"]),
        ("{x}.txt", "string", "-rf"),
        ("{empty}{x}", "string", "-rf"),
    ],
)
def test_a_value_may_not_begin_a_word_with_a_dash(element: str, kind: str, value: object):
    template = a_template("p", element, "{empty}", x=kind, empty="string")

    with pytest.raises(ToolError, match=r'^x may not begin with "-"'):
        filled(template, x=value, empty="")


def test_a_dash_behind_other_text_begins_no_option():
    assert filled(a_template("p", "--level={x}", x="integer"), x=-1) == ("--level=-1",)


def test_a_parameter_can_be_declared_to_take_dashes():
    template = CommandTemplate(["p", "{x}"], [CustomParameter(name="x", allow_dash=True)])

    assert filled(template, x="-v") == ("-v",)


@pytest.mark.parametrize(
    ("value", "complaint"), [("a\0b", "x contains a NUL"), ("a\ud800", "x is not valid Un")]
)
def test_what_no_program_can_be_given_is_an_error_that_names_the_parameter(value: str, complaint: str):
    with pytest.raises(ToolError, match=complaint):
        filled(a_template("p", "{x}", x="string"), x=value)


@pytest.mark.parametrize(
    ("command", "types", "complaint"),
    [
        ([], {}, "command must begin with the name of a program"),
        (["", "a"], {}, "command must begin with the name of a program"),
        (["{x}"], {"x": "string"}, r"command\[0\] is \{x\}, but a call may not choose the program"),
        (["p", "{y}"], {"x": "string"}, r"command\[1\] names \{y\}, which is none of its parameters \(x\)"),
        (["p", "{y}"], {}, r"command\[1\] names \{y\}, which is none of its parameters \(it has none\)"),
        (["p"], {"x": "string"}, r"parameters\.x is not used: put \{x\} into command"),
        (
            ["p", "a", "{x"],
            {"x": "string"},
            r"command\[2\] has a \{ that belongs to no \{parameter\}: write \{\{",
        ),
        (["p", "x}"], {}, r"command\[1\] has a \} that belongs to no \{parameter\}: write \}\}"),
        (["p", "{}"], {}, r"command\[1\] has a \{ that"),
        (["p", "{x y}"], {}, r"command\[1\] has a \{ that"),
        (["p", "--f={x}"], {"x": "array"}, r"command\[1\] has text around \{x\}, which is an array"),
    ],
)
def test_a_command_that_does_not_fit_its_parameters_is_reported_with_its_place(command, types, complaint):
    with pytest.raises(ConfigError, match=f"^{complaint}"):
        a_template(*command, **types)
