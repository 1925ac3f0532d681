import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quorum.domain.errors import ConfigError
from quorum.infrastructure.config.config_file import remove_toml_table, remove_toml_value, set_toml_value
from quorum.infrastructure.config.report import render_reference

THEME = ("tui", "theme")


def test_a_value_is_replaced_where_it_stands_and_the_comment_behind_it_stays():
    text = "# mine\n[agent]\n  max_tool_turns = 3   # enough\nmax_turn_end_retries = 1\n"

    edited = set_toml_value(text, ("agent", "max_tool_turns"), 5)

    assert edited == "# mine\n[agent]\n  max_tool_turns = 5   # enough\nmax_turn_end_retries = 1\n"


def test_a_key_that_stands_commented_out_at_its_default_is_set_on_the_line_below():
    reference = render_reference()

    edited = set_toml_value(reference, ("agent", "max_tool_turns"), 5)

    added = set(edited.splitlines()) - set(reference.splitlines())
    lines = edited.splitlines()
    assert added == {"max_tool_turns = 5"}
    assert lines[lines.index("max_tool_turns = 5") - 1] == "# max_tool_turns = 100"


def test_what_is_set_in_the_reference_can_be_taken_out_again_without_a_trace():
    reference = render_reference()

    assert remove_toml_value(set_toml_value(reference, THEME, "nord"), THEME) == reference


def test_a_key_of_a_table_that_is_there_goes_to_its_end_and_not_behind_the_words_about_the_next():
    text = "[tui]\nnotifications = false\n\n# about the agent\n[agent]\n"

    assert set_toml_value(text, THEME, "nord") == (
        '[tui]\nnotifications = false\ntheme = "nord"\n\n# about the agent\n[agent]\n'
    )


@pytest.mark.parametrize(
    ("text", "edited"),
    [
        ("", '[tui]\ntheme = "nord"\n'),
        ("a = 1", 'a = 1\n\n[tui]\ntheme = "nord"\n'),
        ("tui.notifications = true\n", 'tui.notifications = true\ntui.theme = "nord"\n'),
        ("tui = { notifications = true } # x\n", 'tui = { notifications = true, theme = "nord" } # x\n'),
        ("\"tui\".'theme' = 'a=b#c' # d\n", '"tui".\'theme\' = "nord" # d\n'),
        ("[tui]\r\ntheme = 'a'\r\n", '[tui]\r\ntheme = "nord"\r\n'),
    ],
)
def test_each_way_of_writing_a_table_is_kept(text, edited):
    assert set_toml_value(text, THEME, "nord") == edited


def test_a_list_over_several_lines_stays_one_and_its_comments_stand_above_it():
    text = "[permissions]\nallow = [\n  'a#b', # first\n  # alone\n] # end\n"

    edited = set_toml_value(text, ("permissions", "allow"), ("c", "d"))

    assert edited == '[permissions]\n# first\n# alone\nallow = [\n    "c",\n    "d",\n] # end\n'


def test_taking_a_key_out_leaves_the_comments_that_stood_with_it():
    text = "[permissions]\nallow = [\n  'a', # first\n] # end\nask = []\n"

    assert remove_toml_value(text, ("permissions", "allow")) == "[permissions]\n# first\n# end\nask = []\n"


def test_what_is_not_set_cannot_be_taken_out():
    with pytest.raises(ConfigError, match=r"tui\.theme is not set there"):
        remove_toml_value("[tui]\n", THEME)


@pytest.mark.parametrize("text", ["tui = 3\n", "[[tui]]\n"])
def test_what_cannot_be_edited_without_touching_more_is_refused(text):
    with pytest.raises(ConfigError, match=r"edit the file itself"):
        set_toml_value(text, THEME, "nord")


_VALUES = st.one_of(
    st.booleans(),
    st.integers(-(2**40), 2**40),
    st.text(st.characters(blacklist_categories=("Cs",)), max_size=12),
    st.lists(st.text("ab#\"'\\", max_size=4), max_size=3),
)


@given(former=_VALUES, value=_VALUES, comment=st.text("ab#'\"[]= ", max_size=8))
def test_only_the_key_that_is_meant_changes_whatever_its_values_are(former, value, comment):
    text = set_toml_value(
        f"# {comment}\nkept = 'x' # {comment}\n[t]\nother = 1 # {comment}\n", ("t", "key"), former
    )
    text = text.replace("\n[t]\n", f"\n[t] # {comment}\n")

    edited = set_toml_value(text, ("t", "key"), value)

    assert tomllib.loads(edited) == {"kept": "x", "t": {"other": 1, "key": value}}
    assert edited.count(f"# {comment}") >= 4
    assert tomllib.loads(remove_toml_value(edited, ("t", "key"))) == {"kept": "x", "t": {"other": 1}}


@pytest.mark.parametrize(
    "text",
    [
        '[mcp.servers.git]\ncommand = ["a"] # why\ntools = [\n  "x",\n]\n',
        '[mcp]\nservers.git.command = ["a"]\nservers.git.enabled = false\n',
        '[mcp.servers]\ngit = { command = ["a"] }\n',
        '[mcp]\nservers = { git = { command = ["a"] } }\n',
        'mcp.servers.git.command = ["a"]\n',
        '[mcp.servers.git]\ncommand = ["a"]\n[mcp.servers.git.more]\nx = 1\n',
    ],
)
def test_a_table_is_taken_out_however_it_is_written(text: str) -> None:
    # A TOML file begins with its keys that stand in no table.
    whole = f'{text}[mcp.servers.gitea]\nurl = "b"  # kept\n\n[tui]\ntheme = "nord"\n'
    if text.startswith("[mcp]\nservers = {") or text.startswith("mcp.") or ".git.command" in text:
        whole = f'{text}[tui]\ntheme = "nord"\n'

    left = remove_toml_table(whole, ("mcp", "servers", "git"))

    data = tomllib.loads(left)
    assert data["tui"] == {"theme": "nord"}
    assert not data.get("mcp", {}).get("servers", {}).get("git")
    assert '"a"' not in left
    assert ("# why" in left) == ("# why" in text)
    if "gitea" in whole:
        assert 'url = "b"  # kept' in left


def test_a_table_that_is_not_there_cannot_be_taken_out() -> None:
    with pytest.raises(ConfigError, match=r"mcp\.servers\.git is not set there"):
        remove_toml_table("[mcp.servers.gitea]\nurl = 'b'\n", ("mcp", "servers", "git"))
