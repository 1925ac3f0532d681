"""The screen of `/config`: every setting with its value and where it comes from, to be searched and changed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalGroup
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from quorum.domain.errors import QuorumError
from quorum.domain.text.amounts import shorten_home
from quorum.domain.text.fuzzy import count_edits, is_misspelt
from quorum.domain.text.printable import make_printable
from quorum.tui.agent.services import Setting, SettingsService
from quorum.tui.keys.keyed_app import choose_sign, fill_in_keys
from quorum.tui.settings.effects import is_immediate, write_setting
from quorum.tui.widgets.colours import QUIET
from quorum.tui.widgets.dialog_parts import ChoiceList, ClosesItself, DialogFrame, LineInput, QueryInput

if TYPE_CHECKING:
    from quorum.tui.session.session import Session


_NAME_SHARE = 0.4
_LEAST_LETTERS = 3
_LONGEST_TYPED = 80  # letters that are compared


@dataclass(frozen=True, slots=True)
class TableHeading:
    """The name of a table."""

    table: str


Row: TypeAlias = TableHeading | Setting


def list_rows(settings: Sequence[Setting], query: str) -> list[Row]:
    """The settings in which all words of the query are, each below the heading of its table."""
    words = query.lower().split()
    rows: list[Row] = []
    table: str | None = None
    for setting in settings:
        text = f"{setting.key} {setting.value} {setting.description} {setting.origin}".lower()
        if not all(word in text for word in words):
            continue
        if setting.table != table:
            table = setting.table
            rows.append(TableHeading(table))
        rows.append(setting)
    return rows


def find_best_place(rows: Sequence[Row], query: str) -> int | None:
    """Where the setting is that the query names best: in its own name rather than in what is said of it."""
    wanted = query.strip().lower()
    places = [place for place, row in enumerate(rows) if isinstance(row, Setting)]

    def rate(place: int) -> tuple[bool, bool, bool]:
        row = rows[place]
        assert isinstance(row, Setting)
        key, name = row.key.lower(), row.name.lower()
        return wanted in (key, name), name.startswith(wanted), wanted in key

    return max(places, key=rate, default=None)


def render_row(row: Row, width: int, sign: str) -> Content:
    """One line. A setting that something sets has this sign: it differs from a default without colours."""
    if isinstance(row, TableHeading):
        return Content(f"[{make_printable(row.table, newlines=False)}]").stylize("bold $text-accent")
    name_cells = max(16, int(width * _NAME_SHARE))
    name = Content(make_printable(row.name, newlines=False)).truncate(name_cells - 1, ellipsis=True)
    gap = Content(" " * (name_cells - name.cell_length))
    room = max(1, width - name_cells - 4)
    value = Content(make_printable(row.value, newlines=False)).truncate(room, ellipsis=True)
    if row.is_default:
        return Content("   ") + name + gap + value.stylize(QUIET)
    line = Content(f" {sign} ") + name.stylize("bold") + gap + value
    source = Content(f"  {make_printable(row.origin.rpartition('/')[2], newlines=False)}")
    room = width - line.cell_length - source.cell_length - 1
    return line + Content(" " * room) + source.stylize(QUIET) if room > 0 else line


def describe_setting(setting: Setting) -> Content:
    """What there is to say of one: its meaning, where the value comes from, what fits, when a change counts."""
    facts = _list_facts(setting)
    return Content("\n").join(Content.assemble((left, QUIET), make_printable(right)) for left, right in facts)


def _list_facts(setting: Setting) -> Iterator[tuple[str, str]]:
    yield "", setting.description
    default = f"  ·  default {setting.default}" if setting.default and not setting.is_default else ""
    yield "from  ", f"{shorten_home(setting.origin)}{default}"
    counts = "at once" if is_immediate(setting.key) else "with the next session (/new)"
    yield "takes ", f"{setting.expected}  ·  a change counts {counts}"
    if setting.fixed:
        yield "", f"It {setting.fixed}."


def suggest_setting(query: str, settings: Sequence[Setting]) -> str:
    """What to do where no setting matches: the name that was meant, or where names of one's own are written."""
    typed = query.strip().lower().rpartition(".")[2][:_LONGEST_TYPED]
    names = {setting.key.rpartition(".")[2] for setting in settings}
    near = [name for name in sorted(names) if len(name) >= _LEAST_LETTERS and is_misspelt(typed, name)]
    if near:
        best = min(near, key=lambda name: count_edits(typed, name))
        return f"no setting matches; did you mean {best}?"
    return "no setting matches; tables with names of your own, such as headers, are written in quorum.toml"


class ValueEntry(VerticalGroup):
    """Takes a value. `choices` are the words that Up and Down go through, if it is one of a few."""

    DEFAULT_CSS: ClassVar[str] = """
    ValueEntry {
        margin-top: 1;
        & > #label { height: auto; max-height: 2; text-style: bold; }
        & > #value { background: $panel; border: none; height: 1; padding: 0; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._choices: tuple[str, ...] = ()

    def compose(self) -> ComposeResult:
        """What is edited and where it goes to, and its value."""
        yield Static(id="label", markup=False)
        yield LineInput(select_on_focus=False, id="value")

    @property
    def _input(self) -> Input:
        return self.query_one("#value", Input)

    def open(self, setting: Setting, choices: tuple[str, ...], path: str) -> None:
        """Begin with the present value, which is to go to this file, and take the focus."""
        self._choices = choices
        self.name_file(setting, path)
        self._put(_strip_quotes(setting.value))
        self._input.focus()

    def name_file(self, setting: Setting, path: str) -> None:
        """Say what is edited, and which file it goes to."""
        hint = fill_in_keys(f"  ↑ ↓ choose among {len(self._choices)}", self.app) if self._choices else ""
        into = choose_sign(self.app, "→", "into")
        origin = f"{hint}  {into} {make_printable(shorten_home(path), newlines=False)}"
        key = make_printable(setting.key, newlines=False)
        self.query_one("#label", Static).update(Content.assemble(f"{key} =", (origin, f"not bold {QUIET}")))

    def turn(self, step: int) -> None:
        """Take the next of the choices, or the one before."""
        if self._choices:
            text = self._input.value
            place = self._choices.index(text) + step if text in self._choices else 0
            self._put(self._choices[place % len(self._choices)])

    def _put(self, text: str) -> None:
        self._input.value = text
        self._input.cursor_position = len(text)


def _leave_out_place(refusal: str, path: str, key: str) -> str:
    """Why a typed value is refused, without the line at which it would stand: it is in no file yet."""
    line, _, rest = refusal.removeprefix(f"{path}:").partition(": ")
    return rest if line.isdecimal() and rest.startswith(key) else refusal


def _strip_quotes(value: str) -> str:
    """A value as it is typed: a text without the quotes that TOML needs, where it holds nothing special."""
    inner = value[1:-1]
    return inner if value.startswith('"') and '"' not in inner and "\\" not in inner else value


_HINT = "type to search names, values and meanings"


class SettingsScreen(ClosesItself, ModalScreen[None]):
    """Lists all settings; one is changed below the list, and nothing is written before it is known to fit.

    `session` is the one whose mode a change of it sets, `query` what is searched for at first.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move('up')", "Up; while editing: previous choice", id="settings_up"),
        Binding("down", "move('down')", "Down; while editing: next choice", id="settings_down"),
        Binding("pageup", "move('page_up')", "A page up", id="settings_page_up"),
        Binding("pagedown", "move('page_down')", "A page down", id="settings_page_down"),
        Binding("tab", "turn_target", "Your own file, or the project's", priority=True, id="settings_file"),
        Binding(
            "ctrl+d", "take_out", "Remove the setting from the file", priority=True, id="settings_take_out"
        ),
        Binding("escape", "back", "Cancel the edit, or close", id="settings_back"),
    ]
    DEFAULT_CSS = """
    SettingsScreen {
        align: center middle;
        #settings { height: 94%; }
        #about { height: auto; max-height: 10; margin-top: 1; }
        ValueEntry { display: none; }
        #notice { display: none; height: auto; max-height: 4; text-style: bold; color: $text-warning; }
        &.-editing ValueEntry { display: block; }
        &.-editing #about { max-height: 5; }
    }
    """

    def __init__(self, service: SettingsService, session: Session | None, query: str = "") -> None:
        super().__init__()
        self._service, self._session, self._first_query = service, session, query
        self._targets = service.targets
        self._target = 0
        self._settings: Sequence[Setting] = ()
        self._rows: list[Row] = []
        self._edited: Setting | None = None
        self._writing = asyncio.Lock()

    def compose(self) -> ComposeResult:
        """What is searched, what fits it, what to say of the marked one, and its value while it is edited."""
        with DialogFrame(id="settings"):
            yield QueryInput(self._first_query, placeholder=_HINT, select_on_focus=False, id="query")
            yield ChoiceList()
            yield Static(id="about", markup=False)
            yield ValueEntry()
            yield Static(id="notice", markup=False)

    def on_mount(self) -> None:
        """Read them while the person may already type."""
        self._name_keys()
        self.query_one("#query", Input).focus()
        self.run_worker(self._read(), group="reading")

    def on_resize(self, event: events.Resize) -> None:
        """Draw the lines anew for another width."""
        if self._rows:
            self.call_after_refresh(self._show, self._marked)

    async def _read(self, marked: Setting | None = None) -> None:
        try:
            self._settings = await self._service.list_settings()
        except QuorumError as error:
            self._tell(str(error))
            return
        self._show(marked)

    # -- the list -----------------------------------------------------------------------------------------

    @property
    def _choices(self) -> ChoiceList:
        return self.query_one(ChoiceList)

    @property
    def _marked(self) -> Setting | None:
        place = self._choices.highlighted
        row = self._rows[place] if place is not None and place < len(self._rows) else None
        return row if isinstance(row, Setting) else None

    def _show(self, marked: Setting | None = None) -> None:
        """Draw what fits; what was marked stays so, if it is still there."""
        query = self.query_one("#query", Input).value
        self._rows = list_rows(self._settings, query)
        width = max(20, self._choices.size.width - 1)
        sign = choose_sign(self.app, "●", "set")
        self._choices.set_options(
            Option(render_row(row, width, sign), disabled=not isinstance(row, Setting)) for row in self._rows
        )
        keys = [row.key if isinstance(row, Setting) else "" for row in self._rows]
        place = keys.index(marked.key) if marked is not None and marked.key in keys else None
        self._choices.highlighted = find_best_place(self._rows, query) if place is None else place
        self._describe_marked()

    @on(OptionList.OptionHighlighted)
    def _describe_marked(self) -> None:
        about = self.query_one("#about", Static)
        if (setting := self._marked) is not None:
            name = Content(f"{make_printable(setting.key, newlines=False)}\n").stylize("bold")
            about.update(name + describe_setting(setting))
            self.call_after_refresh(self._choices.scroll_to_highlight)  # the description may need more lines
        else:
            query = self.query_one("#query", Input).value
            said = suggest_setting(query, self._settings) if self._settings else "reading the settings…"
            about.update(Content(said))

    def _name_keys(self) -> None:
        box = self.query_one("#settings", DialogFrame)
        box.border_title = Content("Settings")
        target = ""
        if len(self._targets) > 1:
            target = f" · {{settings_file=tab}}: {self._targets[self._target].name}"
        keys = f"enter saves · esc leaves it{target}"
        if self._edited is None:
            keys = f"enter changes{target} · esc closes · {{settings_take_out=ctrl+d}} takes out"
        box.name_keys(keys)

    # -- keys ---------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While a value is edited, Ctrl+D is for what is typed."""
        return super().check_action(action, parameters) and not (action == "take_out" and self._edited)

    @on(Input.Changed, "#query")
    def _on_searched(self, message: Input.Changed) -> None:
        message.stop()
        self._show()

    def action_move(self, how: str) -> None:
        """Mark another setting; while one of a few values is edited, take another."""
        if self._edited is not None:
            if how in ("up", "down"):
                self.query_one(ValueEntry).turn(1 if how == "down" else -1)
            return
        self._choices.move(how)

    def action_turn_target(self) -> None:
        """Write to another file from now on."""
        self._target = (self._target + 1) % len(self._targets) if self._targets else 0
        self._name_keys()
        if self._edited is not None:
            self.query_one(ValueEntry).name_file(self._edited, self._targets[self._target].path)

    def action_back(self) -> None:
        """Leave the value as it is; with none edited, close."""
        if self._edited is not None:
            self._end_edit()
            self._tell("")
        else:
            self.dismiss()

    @on(Input.Submitted, "#query")
    def _on_entered(self, message: Input.Submitted) -> None:
        message.stop()
        self._edit()

    @on(OptionList.OptionSelected)
    def _on_clicked(self, message: OptionList.OptionSelected) -> None:
        message.stop()
        self._choices.highlighted = message.option_index
        self._edit()

    # -- one value ----------------------------------------------------------------------------------------

    def _list_choices(self, setting: Setting) -> tuple[str, ...]:
        return tuple(sorted(self.app.available_themes)) if setting.key == "tui.theme" else setting.choices

    def _edit(self) -> None:
        setting = self._marked
        if setting is None:
            return
        if setting.fixed or not self._targets:
            self._tell(f"{setting.key} {setting.fixed or 'has no file to go to: there is no home folder'}")
            return
        self._edited = setting
        self._tell("")
        self.add_class("-editing")
        self._name_keys()
        path = self._targets[self._target].path
        self.query_one(ValueEntry).open(setting, self._list_choices(setting), path)

    def _end_edit(self) -> None:
        self._edited = None
        self.remove_class("-editing")
        self._name_keys()
        self.query_one("#query", Input).focus()

    @on(Input.Changed, "#value")
    def _on_typed(self, message: Input.Changed) -> None:
        """What was said of another value holds no longer."""
        message.stop()
        self._tell("")

    @on(Input.Submitted, "#value")
    def _on_saved(self, message: Input.Submitted) -> None:
        message.stop()
        if (setting := self._edited) is not None:
            text = message.value
            if setting.key == "tui.theme" and text not in (*self._list_choices(setting), "auto"):
                keys = fill_in_keys("↑ and ↓ go through those there are", self.app)
                self._tell(f"there is no theme {text!r}; {keys}")
            else:
                self.run_worker(self._change(setting, text), group="writing")

    def action_take_out(self) -> None:
        """Take the marked setting out of the file, so that what counts less than it counts again."""
        if (setting := self._marked) is not None:
            self.run_worker(self._change(setting, None), group="writing")

    async def _change(self, setting: Setting, text: str | None) -> None:
        """Write it, go by it if it holds at once, and show all of them anew."""
        async with self._writing:
            try:
                said = await write_setting(
                    self._service,
                    setting.key,
                    text,
                    self._targets[self._target],
                    app=self.app,
                    session=self._session,
                )
            except QuorumError as error:
                self._tell(_leave_out_place(str(error), self._targets[self._target].path, setting.key))
                return
            self._end_edit()
            self._tell(said)
            await self._read(setting)

    def _tell(self, text: str) -> None:
        notice = self.query_one("#notice", Static)
        notice.update(Content(make_printable(text)))
        notice.display = bool(text)
