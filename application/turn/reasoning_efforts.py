"""How much the models of a session reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from quorum.domain.conversation.effort import Effort, find_effort
from quorum.domain.conversation.session_kind import SessionKind


class ReasoningEfforts:
    """What the person chose for a model in this session holds before what the settings say of it, `configured`
    by model or role, of which the first of `roles` counts. `list_efforts` gives those that a model's API takes:
    it is asked for no other.
    """

    def __init__(
        self,
        configured: Mapping[str, Effort],
        *,
        roles: tuple[str, ...],
        list_efforts: Callable[[str], tuple[Effort, ...]],
        chosen: Mapping[str, Effort],
    ) -> None:
        self._configured = configured
        self._roles = roles
        self._list_efforts = list_efforts
        self._chosen = dict(chosen)

    def get_effort(self, model: str) -> Effort:
        """The effort that a model is asked for."""
        wanted = self.find_wanted(model)
        return wanted if wanted in self._list_efforts(model) else Effort.DEFAULT

    def find_wanted(self, model: str) -> Effort:
        """The effort that is set for a model, whether its API takes it or not."""
        return self._chosen.get(model) or find_effort(self._configured, model, *self._roles)

    def list_taken(self, model: str) -> tuple[Effort, ...]:
        """The efforts that a model's API takes; none where it does not reason."""
        return self._list_efforts(model)

    def choose(self, model: str, effort: Effort | None) -> Effort | None:
        """Ask the model for this effort from now on, None: for what the settings say. Returns what was chosen
        before."""
        before = self._chosen.pop(model, None)
        if effort is not None:
            self._chosen[model] = effort
        return before

    def describe_ignored(self, model: str) -> tuple[str, ...]:
        """A sentence for the person where the effort that is set is none that the model's API takes."""
        wanted, taken = self.find_wanted(model), self._list_efforts(model)
        if wanted is Effort.DEFAULT or wanted in taken:
            return ()
        return (f"{describe_refusal(model, wanted, taken)}; it is asked without (models.effort)",)


def list_effort_roles(kind: SessionKind) -> tuple[str, ...]:
    """The roles of `models.effort` for the model of a session; the first that is set counts."""
    match kind:
        case SessionKind.AGENT:
            return ("decision",)
        case SessionKind.EXTERNAL:
            return ()
        case SessionKind.ASK:
            return ("ask", "decision")
        case SessionKind.DISCUSS | SessionKind.DEBATE | SessionKind.REVIEW:
            return ("moderator", "decision")


def describe_refusal(model: str, effort: Effort, taken: tuple[Effort, ...]) -> str:
    """Why a model is not asked for this effort."""
    if not taken:
        return f"{model} takes no reasoning effort"
    return f"{model} takes no effort {effort.value}, only {', '.join(each.value for each in taken)}"
