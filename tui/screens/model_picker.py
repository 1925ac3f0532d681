"""The screen on which a model is picked, of the rows of all providers and what became of asking them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from quorum.domain.conversation.effort import Effort
from quorum.domain.errors import ProviderError
from quorum.domain.text.fuzzy import fit
from quorum.domain.text.printable import make_printable
from quorum.tui.keys.keyed_app import choose_sign
from quorum.tui.transcript.cells.lines import wrap_words
from quorum.tui.widgets.colours import QUIET
from quorum.tui.widgets.dialog_parts import ChoiceList, ClosesItself, DialogFrame, QueryInput

if TYPE_CHECKING:
    from quorum.application.session.agent_session import AgentSession


@dataclass(frozen=True, slots=True)
class Heading:
    """The name of a provider; its models follow."""

    provider: str


@dataclass(frozen=True, slots=True)
class ModelOffer:
    """A model, "provider/model". `hits` are the places of its name that the query hit.

    `as_typed`: no provider lists it, but it can be asked for all the same.
    """

    model: str
    hits: tuple[int, ...] = ()
    score: int = 0
    as_typed: bool = False


@dataclass(frozen=True, slots=True)
class ModelRemark:
    """What there is to say about a provider in place of models."""

    text: str


Row = Heading | ModelOffer | ModelRemark


class Catalogue:
    """The models of each provider, as far as they are known; the provider of the `current` one comes first."""

    def __init__(self, providers: Sequence[str], current: str) -> None:
        self.current = current
        own = current.partition("/")[0]
        self.providers = tuple(sorted(dict.fromkeys((*providers, own)), key=lambda name: name != own))
        self._models: dict[str, tuple[str, ...]] = {own: (current,)}
        self._remarks: dict[str, str] = dict.fromkeys(self.providers, "asking…")

    def add_models(self, provider: str, models: Sequence[str]) -> None:
        """A provider has listed its models."""
        known = tuple(dict.fromkeys(models))
        own = () if self.current in known or provider != self.providers[0] else (self.current,)
        self._models[provider] = (*own, *known)
        self._remarks[provider] = "" if known else "lists no models"

    def add_failure(self, provider: str, sentence: str) -> None:
        """A provider could not be asked; the sentence says why."""
        self._remarks[provider] = sentence

    def list_rows(self, query: str) -> list[Row]:
        """The rows that fit what is typed, best first within each provider."""
        query = query.strip()
        rows: list[Row] = []
        for provider in self.providers:
            offers = self._list_offers(provider, query)
            remark = self._remarks[provider]
            if remark and not offers and not provider.startswith(query.partition("/")[0]):
                continue
            if offers or remark:
                rows += [Heading(provider), *offers, *([ModelRemark(remark)] if remark else [])]
        listed = {model for models in self._models.values() for model in models}
        if _is_full_name(query) and query not in listed:
            rows.append(ModelOffer(query, as_typed=True))
        return rows

    def _list_offers(self, provider: str, query: str) -> list[ModelOffer]:
        """The models of a provider that fit, best first. Blanks in what is typed do not count."""
        typed = "".join(query.split())
        models = self._models.get(provider, ())
        if not typed:
            return [ModelOffer(model) for model in models]
        found = [ModelOffer(model, hit.hits, hit.score) for model in models if (hit := fit(typed, model))]
        return sorted(found, key=lambda offer: -offer.score)


def find_best_row(rows: Sequence[Row], query: str, current: str) -> int | None:
    """The row to choose unless the person moves: what holds the very text typed, else what was typed whole,
    else what fits best; where nothing is typed, the current model.
    """
    typed = query.strip().lower()
    offers = [(place, row) for place, row in enumerate(rows) if isinstance(row, ModelOffer)]
    if not offers:
        return None
    if not typed:
        return next((place for place, offer in offers if offer.model == current), offers[0][0])

    def rate(placed: tuple[int, ModelOffer]) -> tuple[bool, bool, int]:
        offer = placed[1]
        return not offer.as_typed and typed in offer.model.lower(), offer.as_typed, offer.score

    return max(offers, key=rate)[0]


def _is_full_name(text: str) -> bool:
    provider, _, name = text.partition("/")
    return bool(provider and name) and not any(letter.isspace() for letter in text)


_HINT = "type to filter, or a full provider/model"
_LOCAL = "for a server of models on this machine, start it, then /new"
_REMARK_CELLS = 6  # the indent of a remark, and the scroll bar


class ModelPicker(ClosesItself, ModalScreen[None]):
    """Lists the models of all providers as they answer, and sets the one chosen. A model that cannot be had is
    shown below the list, which stays.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move('up')", "Up", show=False, id="models_up"),
        Binding("down", "move('down')", "Down", show=False, id="models_down"),
        Binding("pageup", "move('page_up')", "A page up", show=False, id="models_page_up"),
        Binding("pagedown", "move('page_down')", "A page down", show=False, id="models_page_down"),
        Binding("left", "change_effort(-1)", "Less reasoning effort", priority=True, id="models_less_effort"),
        Binding("right", "change_effort(1)", "More reasoning effort", priority=True, id="models_more_effort"),
        Binding("escape", "dismiss", "Close, keep the model", id="models_leave"),
    ]
    DEFAULT_CSS = """
    ModelPicker {
        align: center middle;
        #models {
            width: 76;
            max-width: 96%;
            max-height: 30;
        }
        #effort {
            height: 1;
            margin-top: 1;
        }
        #notice {
            display: none;
            height: auto;
            max-height: 4;
            color: $text-muted;
        }
    }
    """

    def __init__(self, agent: AgentSession, *, has_model: bool) -> None:
        super().__init__()
        self._agent, self._has_model = agent, has_model
        self._catalogue = Catalogue(agent.models.providers, agent.models.current)
        self._rows: list[Row] = []
        self._query = ""
        self._efforts: dict[str, Effort] = {}
        self._has_moved = self._is_chosen = False

    def compose(self) -> ComposeResult:
        """What is typed, what fits it, and what there is to say."""
        with DialogFrame(id="models") as box:
            box.border_title = Content("Model")
            box.name_keys("enter chooses · ← → effort · esc leaves")
            yield QueryInput(placeholder=_HINT)
            yield ChoiceList()
            yield Static(id="effort", markup=False)
            yield Static(id="notice", markup=False)

    def on_mount(self) -> None:
        """Ask all providers at once."""
        self._show()
        if not self._has_model:
            self._tell(_LOCAL)
        for provider in self._catalogue.providers:
            self.run_worker(self._ask(provider), group="asking")

    def on_resize(self, event: events.Resize) -> None:
        """Draw the lines anew for another width."""
        self.call_after_refresh(self._show)

    async def _ask(self, provider: str) -> None:
        try:
            self._catalogue.add_models(provider, await self._agent.models.list_models(provider))
        except ProviderError as error:
            self._catalogue.add_failure(provider, str(error))
        self._show()

    # -- the rows -----------------------------------------------------------------------------------------

    def _show(self) -> None:
        """Draw the rows anew. What the person moved to stays marked, if it is still there."""
        choices = self._choices
        kept = self._get_marked() if self._has_moved else None
        self._rows = self._catalogue.list_rows(self._query)
        width = choices.size.width or self.app.size.width
        choices.set_options(
            Option(self._render_row(row, width), disabled=not isinstance(row, ModelOffer)) for row in self._rows
        )
        places = {row.model: place for place, row in enumerate(self._rows) if isinstance(row, ModelOffer)}
        best = find_best_row(self._rows, self._query, self._catalogue.current)
        choices.highlighted = places.get(kept, best) if kept is not None else best
        self._show_effort()

    def _render_row(self, row: Row, width: int) -> Content:
        match row:
            case Heading(provider):
                return Content(make_printable(provider, newlines=False)).stylize("bold $text-accent")
            case ModelRemark(text):
                lines = wrap_words(make_printable(text, newlines=False), width - _REMARK_CELLS)
                return Content("\n".join(f"    {line}" for line in lines)).stylize(QUIET)
            case ModelOffer(model, as_typed=True):
                return Content.assemble("  ", make_printable(model, newlines=False), ("  as typed", QUIET))
            case ModelOffer(model, hits):
                in_use = model == self._catalogue.current
                sign = choose_sign(self.app, "● ", "in use: ") if in_use else "  "
                return Content(f"  {sign}") + _render_own_name(model, hits)

    @on(OptionList.OptionHighlighted)
    def _show_effort(self) -> None:
        """Draw the efforts of the marked model, with the one that it would be asked for."""
        model = self._get_marked()
        efforts = self._agent.models.list_efforts(model) if model is not None else ()
        if not efforts:
            line = Content("takes no reasoning effort" if model is not None else "").stylize(QUIET)
        else:
            line = render_efforts(efforts, self._get_effort(model or ""), self._choices.size.width)
        self.query_one("#effort", Static).update(line)

    @property
    def _choices(self) -> ChoiceList:
        return self.query_one(ChoiceList)

    def _get_effort(self, model: str) -> Effort:
        """The effort that a model would be chosen with."""
        return self._efforts.get(model) or self._agent.models.get_effort(model)

    def _get_marked(self) -> str | None:
        place = self._choices.highlighted
        row = self._rows[place] if place is not None and place < len(self._rows) else None
        return row.model if isinstance(row, ModelOffer) else None

    # -- keys ---------------------------------------------------------------------------------------------

    @on(Input.Changed)
    def _on_typed(self, message: Input.Changed) -> None:
        message.stop()
        self._query, self._has_moved = message.value, False
        self._tell("")
        self._show()

    def action_move(self, how: str) -> None:
        self._has_moved = True
        self._choices.move(how)

    def action_change_effort(self, step: int) -> None:
        """Choose the next effort of the marked model, or the one before; after the last there is none."""
        model = self._get_marked()
        efforts = self._agent.models.list_efforts(model) if model is not None else ()
        if model is None or not efforts:
            return
        place = efforts.index(self._get_effort(model)) + step
        self._efforts[model] = efforts[max(0, min(place, len(efforts) - 1))]
        self._show_effort()

    @on(Input.Submitted)
    def _on_entered(self, message: Input.Submitted) -> None:
        message.stop()
        if (model := self._get_marked()) is not None:
            self._choose(model)
        else:
            self._tell("no model matches; type the full name, provider/model")

    @on(OptionList.OptionSelected)
    def _on_clicked(self, message: OptionList.OptionSelected) -> None:
        message.stop()
        row = self._rows[message.option_index]
        if isinstance(row, ModelOffer):
            self._choose(row.model)

    def _choose(self, model: str) -> None:
        self._tell(f"opening {model}…")
        self.run_worker(self._set(model), group="choosing", exclusive=True)

    async def _set(self, model: str) -> None:
        try:
            await self._agent.models.choose(model, self._efforts.get(model))
        except ProviderError as error:
            self._tell(str(error))
            return
        self._is_chosen = True
        self._leave()

    def on_screen_resume(self) -> None:
        """A question may have come up meanwhile, and a screen is only left from the top."""
        self._leave()

    def _leave(self) -> None:
        if self._is_chosen and self.app.screen is self:
            self.dismiss()

    def _tell(self, text: str) -> None:
        notice = self.query_one("#notice", Static)
        notice.update(Content(make_printable(text, newlines=False)))
        notice.display = bool(text)


def render_efforts(efforts: Sequence[Effort], wanted: Effort, width: int) -> Content:
    """The efforts of a model in one line, the wanted one in brackets; where they do not fit, that one alone."""
    words = [f"[{each.value}]" if each is wanted else f" {each.value} " for each in efforts]
    narrow = [word.strip() for word in words]
    place = efforts.index(wanted) + 1
    ways = (
        ["effort ", *words],
        [f"{word} " for word in narrow],
        ["effort ", f"[{wanted.value}]", f" {place} of {len(efforts)}"],
    )
    parts = next((way for way in ways if sum(map(len, way)) <= width), ways[-1])
    return Content.assemble(*((part, "bold $text-accent" if part.startswith("[") else QUIET) for part in parts))


def _render_own_name(model: str, hits: tuple[int, ...]) -> Content:
    """The model's name without its provider's, with what was hit standing out."""
    start = model.index("/") + 1 if "/" in model else 0
    own = model[start:]
    shown = make_printable(own, newlines=False)
    name = Content(shown)
    if shown == own:  # else the places do not fit what is shown
        for hit in hits:
            if start <= hit < len(model):
                name = name.stylize("bold $text-warning", hit - start, hit - start + 1)
    return name
