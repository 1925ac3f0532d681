"""What is typed while questions come and go: text for the prompt, or an answer."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual.screen import Screen

import quorum.tui
from quorum.tui.keys.keyboard_guard import (
    CAME_TOO_EARLY,
    ENTER_DID_NOTHING,
    ESC_AGAIN,
    NO_USE,
    WENT_TO_PROMPT,
    Guarded,
    KeyboardGuard,
    KeySorter,
    OpenQuestion,
    TypingPace,
    mark_as_pasted,
)
from tests.support.examples import examples

PACE = TypingPace()
USED = frozenset("ynreaAdvo ")
"""The characters that a review knows."""

OPENED_BY_A_KEY = {
    "AccountSheet",
    "BoardScreen",
    "AgentsScreen",
    "ChangesScreen",
    "ChatScreen",
    "ContextScreen",
    "CostScreen",
    "DrawnOnce",
    "FilePlanScreen",
    "FindingsScreen",
    "GoalScreen",
    "HelpScreen",
    "HunksScreen",
    "InboxScreen",
    "EditsCall",
    "JobsScreen",
    "KeepsPlace",
    "LanguageServersScreen",
    "LoginScreen",
    "McpScreen",
    "ModelPicker",
    "PagerScreen",
    "PaletteScreen",
    "PermissionsScreen",
    "RedoScreen",
    "RestoreScreen",
    "SeeThroughScreen",
    "SessionPicker",
    "SettingsScreen",
    "SkillsScreen",
    "StatusScreen",
    "SubagentScreen",
    "ThemePicker",
    "TimelineScreen",
    "TurnList",
    "_ScrollsCall",
    "VerdictScreen",
}
"""Screens that only a key or a command of the person opens, and those that others are made of."""


def press(key: str, at: float) -> events.Key:
    event = events.Key({" ": "space"}.get(key, key), key if len(key) == 1 else None)
    event.time = at
    return event


class Typist:
    """Types at moments of our choice, with one question in front or none."""

    def __init__(self, *, draft: str = "", asks_enter_twice: bool = False) -> None:
        self.sorter = KeySorter(PACE)
        self.guard = KeyboardGuard(0.4)
        self.draft, self.answers, self.notice = draft, list[str](), ""
        self.subject: object = None
        self.asks_enter_twice = asks_enter_twice

    def open(self, at: float) -> None:
        """A question comes up, in the place of another if there is one."""
        self.subject, self.guard = object(), KeyboardGuard(0.4)
        self.guard.restart(at)
        self.notice = ""

    def close(self) -> None:
        """It is answered elsewhere."""
        self.subject = None
        self._place(self.sorter.take_unplaced())

    def press(self, key: str, at: float, *, is_pasted: bool = False) -> None:
        event = press(key, at)
        if is_pasted:
            mark_as_pasted([event])
        self.wait(at, event.key)
        if self.subject is None:
            self._place(self.sorter.take_unplaced())
            (self.sorter.note_sent if key == "enter" else self.sorter.note_typed)(at)
            self._place([event])
            return
        self._carry_out(self.sorter.sort(event, self._question))

    def type(self, text: str, at: float, gap: float = 0.1) -> float:
        """When the last of it was typed."""
        for number, character in enumerate(text):
            self.press("enter" if character == "\n" else character, at + number * gap)
        return at + (len(text) - 1) * gap

    def wait(self, until: float, following: str = "") -> None:
        if self.sorter.is_due(until, following):
            self._carry_out(self.sorter.release(self._question))

    @property
    def _question(self) -> OpenQuestion:
        def knows(key: events.Key) -> bool:
            return key.key in ("enter", "escape", "up", "tab") or key.character in USED

        return OpenQuestion(
            self.subject,
            knows,
            knows,
            lambda key: self.guard.admits(key.time),
            has_draft=bool(self.draft.strip()),
            asks_enter_twice=self.asks_enter_twice,
            keeps_escape=lambda key: self.guard.is_unread(key.time),
        )

    def _carry_out(self, decided) -> None:
        self._place(decided.text)
        self.notice = self.notice if decided.notice is None else decided.notice
        if decided.answer is not None:
            self.answers.append(decided.answer.key)

    def _place(self, keys: Sequence[events.Key]) -> None:
        for key in keys:
            if key.key == "backspace":
                self.draft = self.draft[:-1]
            elif key.key == "ctrl+u":
                self.draft = ""
            elif key.key == "enter":
                self.draft += "\n" if self.draft and not self.draft.endswith("\n") else ""
            else:
                self.draft += key.character or ""


def test_a_letter_that_nothing_follows_answers():
    typist = Typist()
    typist.open(0.0)
    typist.press("y", 1.0)
    assert typist.answers == []

    typist.wait(1.0 + PACE.hold_secs)
    assert typist.answers == ["y"]


@pytest.mark.parametrize("opened", [0.05 * step for step in range(60)])
def test_words_and_their_enter_answer_nothing_whenever_the_question_opens(opened):
    typist = Typist()
    words, at = "also count the lines afterwards\n", 0.0
    for character in words:
        if typist.subject is None and at >= opened:
            typist.open(at)
        typist.press("enter" if character == "\n" else character, at)
        at += 0.08
    typist.wait(at + 5)

    assert typist.answers == []
    assert typist.draft == words


def test_a_word_after_a_pause_is_added_to_the_draft():
    typist = Typist()
    typist.type("when ", 0.0)
    typist.open(0.6)
    last = typist.type("you are done", 2.6, gap=0.19)
    typist.wait(last + 5)

    assert typist.answers == []
    assert typist.draft == "when you are done"
    assert typist.notice == WENT_TO_PROMPT


def test_where_the_prompt_holds_text_an_answer_is_pressed_twice():
    typist = Typist(draft="later")
    typist.open(0.0)
    for at in (1.0, 2.0):
        typist.press("y", at)
        assert typist.answers == []
        typist.wait(at + 0.5)
        assert (typist.answers, "press y again" in typist.notice) == ((["y"], False) if at > 1 else ([], True))

    assert typist.draft == "later"


def test_slowly_typed_letters_are_not_lost_where_the_prompt_holds_text():
    typist = Typist(draft="when ")
    typist.open(0.0)
    typist.type("you", 2.0, gap=1.2)

    assert (typist.draft, typist.answers) == ("when you", [])


def test_the_second_press_counts_for_this_question_alone():
    typist = Typist(draft="later")
    typist.open(0.0)
    for at in (1.0, 2.0, 3.0):
        typist.press("d", at)
    typist.wait(4.0)
    assert typist.answers == ["d", "d"]
    typist.open(5.0)
    typist.press("y", 6.0)
    typist.wait(7.0)

    assert typist.answers == ["d", "d"]


@pytest.mark.parametrize(("after", "answers"), [(0.1, []), (1.4, []), (1.6, ["enter"])])
def test_enter_soon_after_text_is_for_the_text(after, answers):
    typist = Typist()
    typist.press("x", 0.0)
    typist.press("enter", 0.1)
    typist.draft = ""  # it was sent
    typist.open(0.1)
    typist.press("enter", 0.1 + after)

    assert typist.answers == answers
    assert typist.notice == ("" if answers else ENTER_DID_NOTHING)


def test_enter_takes_a_choice_nobody_turned_to_only_at_the_second_time():
    typist = Typist(asks_enter_twice=True)
    typist.open(0.0)
    typist.press("enter", 1.0)
    assert typist.answers == []
    typist.press("enter", 2.0)

    assert typist.answers == ["enter"]


def test_escape_acts_at_once_but_only_ends_what_is_being_typed():
    typist = Typist()
    typist.type("also", 0.0)
    typist.open(0.35)
    typist.press("escape", 0.5)
    assert (typist.answers, typist.notice) == ([], ESC_AGAIN)
    typist.press("escape", 0.6)
    assert typist.answers == ["escape"]

    fresh = Typist()
    fresh.open(0.0)
    fresh.press("escape", 0.01)
    assert fresh.answers == ["escape"]


def test_escape_after_text_leaves_a_question_that_has_been_in_sight():
    typist = Typist()
    typist.type("also", 0.0)
    typist.open(0.35)
    last = typist.type(" that", 0.4)
    typist.press("escape", last + 0.1)

    assert (typist.answers, typist.draft) == (["escape"], "also that")


def test_a_prompt_that_was_sent_is_not_being_typed_any_more():
    typist = Typist()
    typist.type("go\n", 0.0)
    typist.draft = ""
    typist.open(0.25)
    typist.press("y", 0.7)
    typist.wait(1.0)
    assert typist.answers == ["y"]

    again = Typist()
    again.type("go\n", 0.0)
    again.open(0.25)
    again.press("escape", 0.3)
    assert again.answers == ["escape"]


def test_control_c_always_acts_and_loses_no_letter():
    typist = Typist()
    typist.open(0.0)
    typist.press("y", 1.0)
    typist.press("ctrl+c", 1.1)

    assert (typist.answers, typist.draft) == (["ctrl+c"], "y")


def test_backspace_edits_what_is_typed_and_tab_marks_nothing_meanwhile():
    typist = Typist()
    typist.open(0.0)
    typist.type("wehn", 1.0)
    for number in range(3):
        typist.press("backspace", 1.4 + number * 0.1)
    last = typist.type("hen", 1.7)
    typist.press("tab", last + 0.1)

    assert (typist.draft, typist.answers) == ("when", [])


def test_keys_that_edit_a_draft_edit_it_also_after_a_pause():
    typist = Typist(draft="abc")
    typist.open(0.0)
    typist.press("ctrl+u", 2.0)
    typist.type("wef", 4.0)
    typist.press("backspace", 6.0)

    assert (typist.draft, typist.answers) == ("we", [])


def test_a_key_that_edits_takes_back_a_letter_that_did_nothing_yet():
    typist = Typist()
    typist.open(0.0)
    typist.press("y", 0.1)
    typist.wait(1.0)
    typist.press("backspace", 2.0)
    typist.type("ok", 4.0)

    assert (typist.draft, typist.answers) == ("ok", [])


def test_letters_that_came_at_once_are_text_however_long_after():
    typist = Typist()
    typist.open(0.0)
    typist.press("y", 9.0, is_pasted=True)
    typist.press("enter", 9.0, is_pasted=True)
    typist.wait(10.0)

    assert (typist.draft, typist.answers) == ("y\n", [])


@pytest.mark.parametrize("character", ["語", "Я", "é", "Y", "?"])
def test_characters_that_the_question_does_not_know_are_text_at_once(character):
    typist = Typist()
    typist.open(0.0)
    typist.press(character, 5.0)

    assert typist.draft == character


def test_a_letter_too_early_is_said_and_is_text_if_text_follows():
    typist = Typist()
    typist.open(0.0)
    typist.press("n", 0.1)
    typist.wait(0.5)
    assert (typist.answers, typist.draft, typist.notice) == ([], "", CAME_TOO_EARLY)
    typist.type("ow", 2.0)

    assert typist.draft == "now"


def test_a_letter_at_a_question_that_is_replaced_does_not_answer_the_next():
    typist = Typist()
    typist.open(0.0)
    typist.press("y", 1.0)
    typist.open(1.1)
    typist.wait(1.5)
    assert typist.answers == []
    typist.type("es", 1.6)

    assert (typist.draft, typist.answers) == ("yes", [])


def test_a_key_without_a_use_now_is_text_if_text_follows():
    typist = Typist()
    typist.open(0.0)
    question = typist._question
    asked = OpenQuestion(question.subject, question.knows, lambda _key: False, question.admits)
    typist.sorter.sort(press("y", 1.0), asked)

    assert typist.sorter.release(asked).notice == NO_USE
    assert [key.key for key in typist.sorter.sort(press("x", 3.0), asked).text] == ["y", "x"]


def test_lines_are_marked_as_fast_as_a_person_goes_through_them():
    typist = Typist()
    typist.open(0.0)
    for number, key in enumerate((" ", "up", "up", " ", "up", " ")):
        typist.press(key, 1.0 + number * 0.1)
    typist.wait(3.0)

    assert typist.answers == ["space", "up", "up", "space", "up", "space"]
    assert typist.draft == ""


def test_a_space_within_a_text_marks_nothing_whatever_follows():
    typist = Typist()
    typist.open(0.0)
    typist.press("up", typist.type("ab ", 1.0) + 0.1)
    typist.wait(3.0)

    assert (typist.answers, typist.draft) == ([], "ab ")


def test_holding_space_down_reads_on_and_types_nothing():
    typist = Typist()
    typist.open(0.0)
    for number in range(20):
        typist.press(" ", 1.0 + number * 0.03)
    typist.wait(3.0)

    assert typist.answers == ["space"] * 20
    assert typist.draft == ""


WORDS = st.sampled_from(
    ["a", "y", "yes", "no", "any", "never", "review", "and", "explain", "open", "done", "you", "語彙"]
)
GAPS = st.floats(0.005, PACE.hold_secs - 0.01)
SENTENCES = st.lists(WORDS, min_size=1, max_size=4).map(" ".join)


@examples(400)
@given(
    st.lists(
        st.tuples(
            SENTENCES,
            st.booleans(),  # Enter at its end
            st.booleans(),  # it is pasted
            st.floats(0, 4),  # a pause before it
            st.lists(GAPS, min_size=40, max_size=40),
        ),
        min_size=1,
        max_size=5,
    ),
    st.lists(st.tuples(st.floats(0, 25), st.booleans()), max_size=8),
)
def test_whatever_is_typed_and_whenever_questions_open_no_word_is_lost_and_none_answers(typed, openings):
    keys: list[tuple[float, str, str]] = []
    now, expected = 0.0, list[str]()
    for sentence, sends, is_pasted, pause, gaps in typed:
        now += pause
        expected += sentence.split()
        if is_pasted:
            keys.append((now, "paste", f" {sentence} "))
            now += 0.01
        else:
            for character, gap in zip(f" {sentence} "[1:], gaps, strict=False):
                keys.append((now, "key", character))
                now += gap
        if sends:
            keys.append((now, "key", "enter"))
            now += 0.01
    moments = sorted([*keys, *((at, "open" if opens else "close", "") for at, opens in openings)])
    typist = Typist()
    for (at, what, text), (following, *_) in pairwise([*moments, (now + 30, "", "")]):
        match what:
            case "open":
                typist.open(at)
            case "close":
                typist.close()
            case "paste":
                typist._place(typist.sorter.note_pasted(at))
                typist.draft += text
            case _:
                typist.press(text, at)
        typist.wait(following)
    typist.close()

    assert "".join(typist.draft.split()) == "".join(expected)
    assert typist.answers == []


MOVES = ("tab", "up", "down", "left", "right", "pagedown", "shift+up")
PIECES = st.one_of(
    st.tuples(st.just("typed"), SENTENCES),
    st.tuples(st.just("pasted in parts"), SENTENCES),
    st.tuples(st.just("composed"), SENTENCES),  # an input method sends a whole word at once
    st.tuples(st.just("moved"), st.sampled_from(MOVES)),
    st.tuples(st.just("ended"), st.just("enter")),
)


@examples(400)
@given(
    st.lists(st.tuples(PIECES, st.floats(0, PACE.hold_secs - 0.01)), min_size=1, max_size=12),
    st.lists(st.tuples(st.floats(0, 12), st.booleans()), max_size=12),
    st.booleans(),
)
def test_keys_that_move_pastes_in_parts_and_composed_words_among_typing_lose_and_answer_nothing(
    pieces, openings, asks_enter_twice
):
    keys: list[tuple[float, str, str]] = []
    now, expected = 0.0, ""
    for (kind, text), pause in [(("typed", "xx"), 0.0), *pieces]:
        now += pause
        match kind:
            case "typed":
                keys += [(now + 0.02 * place, "key", each) for place, each in enumerate(text)]
            case "pasted in parts":
                halves = text[: len(text) // 2], text[len(text) // 2 :]
                keys += [(now + 0.01 * place, "paste", half) for place, half in enumerate(halves)]
            case "composed":
                keys += [(now, "at once", each) for each in text]
            case _:
                keys.append((now, "key", text))
        now = max(keys[-1][0] + 0.001, now)
        expected += "" if kind in ("moved", "ended") else text
    opened = [(at, "open" if opens else "close", "") for at, opens in openings]
    moments = sorted([*keys, *opened], key=lambda moment: moment[0])
    typist = Typist(asks_enter_twice=asks_enter_twice)
    for (at, what, text), (following, *_) in pairwise([*moments, (now + 30, "", "")]):
        match what:
            case "open":
                typist.open(at)
            case "close":
                typist.close()
            case "paste":
                typist._place(typist.sorter.note_pasted(at))
                typist.draft += text
            case _:
                typist.press(text, at, is_pasted=what == "at once")
        typist.wait(following)
    typist.close()

    assert "".join(typist.draft.split()) == "".join(expected.split())
    assert set(typist.answers) <= {*MOVES}


def test_every_screen_that_can_open_by_itself_is_guarded():
    for module in pkgutil.walk_packages(quorum.tui.__path__, "quorum.tui."):
        importlib.import_module(module.name)
    unguarded = {
        each.__name__
        for each in _list_subclasses(Screen)
        if each.__module__.startswith("quorum.tui.") and not issubclass(each, Guarded)
    }

    assert unguarded <= OPENED_BY_A_KEY, "make it a QuestionCard"


def _list_subclasses(base: type) -> set[type]:
    found = set(base.__subclasses__())
    return found.union(*(_list_subclasses(each) for each in found))
