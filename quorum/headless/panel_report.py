"""What a run prints of a panel beside the answer: who took part, and who said what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from quorum.domain.conversation.session_kind import SessionKind
from quorum.domain.events.event import Event, PanelStarted, ResponseCompleted, SessionStarted
from quorum.domain.events.panels import PanelEvent
from quorum.domain.events.report import usage_to_json
from quorum.domain.panel.cost_estimate import CostEstimate
from quorum.domain.panel.debate_record import DebateObjection, DebateRecord, ObjectionRuling
from quorum.domain.panel.panel_answer import (
    AnswerStatus,
    PanelForm,
    Participant,
    Point,
    Synthesis,
    rank_answers,
)
from quorum.domain.sessions.session_summary import LedgerRecord
from quorum.domain.text.json_value import JsonObject, JsonValue

if TYPE_CHECKING:  # loaded with the first panel: few runs have one
    from quorum.application.view.entries import Entry, PanelEntry, PanelMember
    from quorum.application.view.session_view import Panels


class PanelReport:
    """Follows the events of a run. Where no panel was asked it stays empty. The review of what a plan led to is
    none of these: in a session with tools it stands beside the answer."""

    def __init__(self) -> None:
        self._has_tools = False
        self._left_out: set[str] = set()
        self._entries: list[Entry] = []
        self._panels: Panels | None = None

    def follow_past(self, records: Iterable[LedgerRecord]) -> None:
        """Take in what the session did before: a panel whose answer is not on record may be continued."""
        for record in records:
            if record.event is not None:
                self.follow(record.event)
            if (
                isinstance(record.event, ResponseCompleted)
                and self._panel is not None
                and self._panel.is_concluded
            ):
                self._entries.clear()

    def follow(self, event: Event) -> None:
        """Take an event in."""
        match event:
            case SessionStarted(form=form):
                self._has_tools = form is SessionKind.AGENT
            case PanelStarted(form=PanelForm.REVIEW) if self._has_tools:
                self._left_out.add(event.panel_id)
            case PanelEvent() if event.panel_id not in self._left_out:
                self._follow_panel(event)
            case _:
                return

    def _follow_panel(self, event: PanelEvent) -> None:
        from quorum.application.view.session_view import Panels

        if self._panels is None:
            self._panels = Panels(self._entries, clock=lambda: 0.0)
        self._panels.apply(event)

    @property
    def _panel(self) -> PanelEntry | None:
        """The last one."""
        if not self._entries:
            return None
        from quorum.application.view.entries import PanelEntry

        last = self._entries[-1]
        return last if isinstance(last, PanelEntry) else None

    @property
    def legend(self) -> str:
        """Which label stands for which model, in a line; empty where no panel was asked."""
        return ", ".join(f"{each.label} is {each.model}" for each in self._participants)

    def to_json(self) -> JsonObject:
        """`form`, `participants` with their answers, `estimate`, what each model was to cost, the label
        of the answer that was `chosen`, `synthesis` and `additions`, and the `reason` where something of that
        is missing; empty as above.

        Points name the models that say so, where the text has labels.
        """
        if (panel := self._panel) is None:
            return {}
        shown: dict[str, JsonValue] = {
            "form": panel.form.value,
            "participants": [self._build_participant(panel, each) for each in panel.members],
            "estimate": [_render_estimate(each) for each in panel.costs],
            "chosen": panel.chosen,
            "synthesis": self._render(panel.synthesis) if panel.synthesis is not None else None,
            "additions": [self._convert_point(point) for point in panel.additions],
        }
        if panel.form is PanelForm.DEBATE:
            shown["debate"] = self._render_debate(panel)
        return {**shown, "reason": panel.reason} if panel.reason else shown

    def _render_debate(self, panel: PanelEntry) -> JsonObject:
        """The answer as it is now, the objections in the order of their rounds, and how many are open."""
        opening = next((each.answer.text for each in panel.answered if each.answer is not None), "")
        debate = panel.debate
        return {
            "answer": debate.find_answer(opening),
            "rounds": debate.round,
            "open": len(debate.select(ObjectionRuling.OPEN)),
            "objections": [self._build_objection(debate, each) for each in debate.objections],
        }

    def _build_objection(self, debate: DebateRecord, objection: DebateObjection) -> JsonObject:
        response = debate.find_response(objection.id)
        ruled = debate.find_ruling(objection.id)
        said: JsonObject | None = None
        if response is not None:
            said = {"stance": "concede" if response.is_conceded else "contest", "text": response.text}
        return {
            "id": objection.id,
            "round": objection.round,
            "model": self._render_models((objection.label,))[0],
            "severity": objection.severity.value,
            "claim": objection.claim,
            "evidence": objection.evidence,
            "response": said,
            "ruling": (ruled.ruling if ruled is not None else ObjectionRuling.OPEN).value,
            "reason": ruled.reason if ruled is not None else "",
        }

    @property
    def _participants(self) -> tuple[Participant, ...]:
        return tuple(each.participant for each in self._panel.members) if self._panel is not None else ()

    def _build_participant(self, panel: PanelEntry, member: PanelMember) -> JsonObject:
        shown: dict[str, JsonValue] = {"label": member.label, "model": member.participant.model}
        answer = member.answer
        if answer is None:
            return {**shown, **_describe_objector(panel.debate, member.label)}
        usage = usage_to_json(answer.usage, answer.cost_usd)
        shown |= {"status": answer.status.value, "text": answer.text, "usage": usage, "secs": answer.secs}
        shown |= {"reason": answer.reason} if answer.reason else {}
        is_plan = panel.form is PanelForm.PLAN and answer.is_answer
        return {**shown, **_judge(panel, member.label)} if is_plan else shown

    def _render(self, synthesis: Synthesis) -> JsonObject:
        return {
            "conclusion": synthesis.conclusion,
            "key_points": [self._convert_point(point) for point in synthesis.key_points],
            "agreement": [self._convert_point(point) for point in synthesis.agreement],
            "disagreement": [
                {
                    "text": each.text,
                    "positions": [
                        {"claim": one.text, "models": self._render_models(one.answers)} for one in each.claims
                    ],
                }
                for each in synthesis.disagreement
            ],
        }

    def _convert_point(self, point: Point) -> JsonObject:
        return {"text": point.text, "models": self._render_models(point.answers)}

    def _render_models(self, labels: Sequence[str]) -> list[str]:
        return [each.model for each in self._participants if each.label in labels]


def _judge(panel: PanelEntry, label: str) -> JsonObject:
    """The score of a plan, None where nobody gave one, and what each of the others says of it."""
    peers = tuple(each.review for each in panel.members if each.review is not None)
    (rank,) = rank_answers([label], peers)
    reviews: list[JsonValue] = [
        {
            "model": peer.model,
            "score": review.score,
            "agreement": review.agreement.value,
            "comment": review.comment,
            "dangers": list(review.dangers),
        }
        for peer in peers
        for review in peer.reviews
        if review.answer == label != peer.label
    ]
    return {"score": rank.score, "reviews": reviews}


def _describe_objector(debate: DebateRecord, label: str) -> JsonObject:
    """The status of one that gave no answer of its own: in a debate it objects to that of another."""
    raised = debate.list_raised(label)
    if not raised:
        return {"status": "cancelled", "text": ""}
    if any(not each.error for each in raised):
        return {"status": "objected", "text": ""}
    return {"status": AnswerStatus.FAILED.value, "text": "", "reason": raised[-1].error}


def _render_estimate(cost: CostEstimate) -> JsonObject:
    """The cost of a model in USD before it starts; None where it is not known. The moderator has no label."""
    return {
        "label": cost.label or None,
        "model": cost.model,
        "least_requests": cost.least_requests,
        "most_requests": cost.most_requests,
        "least_usd": None if cost.least_usd is None else float(cost.least_usd),
        "most_usd": None if cost.most_usd is None else float(cost.most_usd),
    }
