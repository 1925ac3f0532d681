"""Slash commands that there are not: what was meant by them."""

import pytest

from quorum.tui.completion.completion import find_offers
from quorum.tui.keys.slash_commands import (
    _ANSWERS,
    _MEANINGS,
    COMMANDS,
    GROUPS,
    NotACommand,
    find_action,
    find_command,
    find_synonym,
    list_groups,
    suggest_command,
)

OTHERS = [word for _, words in (*_MEANINGS, *_ANSWERS) for word in words.split()]


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("usage", "did you mean /cost?"),
        ("bye", "did you mean /quit?"),
        ("memory", "# and a space before a line add it to AGENTS.md"),
        ("yolo", "did you mean /mode auto?"),
        ("commit", "say it in a prompt"),
        ("login", "`quorum keys set anthropic` in a shell"),
        ("share", "`quorum share latest` in a shell"),
        ("pr", "`quorum pr` in a shell"),
        ("version", "did you mean /status?"),
        ("prefs", "did you mean /config?"),
        ("bg", "did you mean /jobs?"),
        ("gitdiff", "did you mean /diff?"),
        ("brainstorm", "did you mean /discuss?"),
        ("newtab", "did you mean /tab?"),
        ("ls", "! before a command"),
        ("trust", "`quorum config trust` in a shell"),
        ("import", "`quorum import` in a shell"),
    ],
)
def test_a_word_of_other_agents_leads_to_what_does_it_here(word, meant):
    assert suggest_command(word).startswith(meant)


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("hlep", "/help"),
        ("setings", "/config"),
        ("lgoin", "/mcp login"),
        ("conf", "/config"),
        ("nwe", "/new"),
        ("theam", "/theme"),
    ],
)
def test_a_mistyped_word_leads_there_too(word, meant):
    assert meant in suggest_command(word)


def test_a_word_of_the_description_leads_to_its_command():
    assert suggest_command("zebra") == "/ alone lists them"
    assert suggest_command("object") == "did you mean /debate?"
    assert suggest_command("reasoni") == "did you mean /model?"


@pytest.mark.parametrize("word", ["rebase", "upgrade", "xyzzy", "s", "z" * 5000])
def test_a_word_that_is_like_a_command_in_letters_alone_leads_to_none(word):
    assert suggest_command(word) == "/ alone lists them"


def test_a_custom_command_is_meant_before_a_synonym():
    assert suggest_command("fix-isue", ["fix-issue"]) == "did you mean /fix-issue?"
    with pytest.raises(NotACommand, match="did you mean /usag2"):
        find_action("/usag3", ["usag2"])


def test_each_word_is_there_once_is_no_command_and_leads_to_one():
    assert len(set(OTHERS)) == len(OTHERS)
    assert all(find_command(word) is None for word in OTHERS)
    for command, _ in _MEANINGS:
        assert find_action(command) if " " in command else find_command(command[1:])


def test_each_command_that_is_listed_is_in_one_group():
    named = [name for _, names in GROUPS for name in names.split()]
    listed = [command.name for _, commands in list_groups() for command in commands]

    assert sorted(named) == sorted(listed) == sorted(each.name for each in COMMANDS if each.is_listed)


def test_a_slash_alone_offers_all_commands_by_groups_and_letters_offer_none():
    rows = find_offers("/", "/").rows

    assert list(dict.fromkeys(row.group for row in rows)) == [title for title, _ in GROUPS]
    assert {row.group for row in find_offers("/re", "/re").rows} == {""}


@pytest.mark.parametrize(
    ("typed", "first"),
    [("/usage", "/cost"), ("/settings", "/config "), ("/exit", "/quit"), ("/plugin", "/skills")],
)
def test_the_menu_offers_first_what_a_whole_word_means(typed, first):
    assert find_offers(typed, typed).rows[0].insert == first


@pytest.mark.parametrize("typed", ["/yolo", "/sandbox", "/login"])
def test_the_menu_offers_nothing_for_a_word_that_means_more_than_a_command(typed):
    assert not any(row.insert.startswith("/mode") for row in find_offers(typed, typed).rows)
    assert find_synonym(typed[1:]) == ""


@pytest.mark.parametrize("typed", ["/solo", "/scope full"])
def test_former_words_are_not_listed_and_still_work(typed):
    assert find_action(typed)
    name = typed[1:].partition(" ")[0]
    assert not any(row.insert.strip() == f"/{name}" for row in find_offers("/", "/").rows)
