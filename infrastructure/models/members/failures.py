"""What can go wrong with the program of a member, each in one sentence and one ProviderError."""

from __future__ import annotations

import re
from collections.abc import Mapping

from quorum.domain.errors import ProviderError, ProviderErrorKind
from quorum.infrastructure.models.members.launch import MemberLaunch
from quorum.infrastructure.models.shared.error_bodies import fit_to_line, speaks_of_length

_Kind = ProviderErrorKind
_OF_STATUS: Mapping[int, _Kind] = {
    400: _Kind.BAD_REQUEST,
    401: _Kind.AUTHENTICATION,
    402: _Kind.PERMISSION,
    403: _Kind.PERMISSION,
    404: _Kind.NOT_FOUND,
    413: _Kind.TOO_LONG,
    429: _Kind.RATE_LIMIT,
    503: _Kind.OVERLOADED,
    529: _Kind.OVERLOADED,
}
_OF_WORDS = (
    (
        re.compile(
            r"not logged in|log ?in\b|sign(?:ed)? ?in\b|\b401\b|unauthori[sz]ed|authenticat|auth_required"
            r"|api key",
            re.IGNORECASE,
        ),
        _Kind.AUTHENTICATION,
    ),
    (re.compile(r"\b429\b|rate.?limit|usage limit|quota|limit reached", re.IGNORECASE), _Kind.RATE_LIMIT),
    (re.compile(r"\b(?:503|529)\b|overloaded", re.IGNORECASE), _Kind.OVERLOADED),
)
_MAY_PASS = frozenset({_Kind.OVERLOADED, _Kind.SERVER})


class MemberFailures:
    """Words the failures of one configured program. None but a passing one is worth repeating."""

    def __init__(self, launch: MemberLaunch) -> None:
        self._launch = launch

    def explain_reported(self, message: str, status: int | None = None) -> ProviderError:
        """The program says that it cannot answer."""
        kind = self._classify(message, status)
        remedy = f"; sign in with {self._launch.about.sign_in}" if kind is _Kind.AUTHENTICATION else ""
        text = f"{self._launch.provider} gave no answer: {self._clean_text(message)}{remedy}"
        return ProviderError(text, kind=kind, retryable=kind in _MAY_PASS, status=status)

    def explain_exit(self, said: str) -> ProviderError:
        """The process ended, or closed its output, before it had answered."""
        kind = self._classify(said, None)
        if kind is not _Kind.SERVER:
            return self.explain_reported(said)
        text = f"{self._launch.about.name} of provider {self._launch.provider} ended without an answer"
        reason = f": {self._clean_text(said)}" if said.strip() else ""
        return ProviderError(f"{text}{reason}", kind=_Kind.CONNECTION)

    def explain_start_failure(self, why: str) -> ProviderError:
        """The program is there and cannot be run."""
        text = f"{self._launch.words[0]} cannot be run: {self._clean_text(why)}"
        return ProviderError(text, kind=_Kind.CONFIGURATION)

    def explain_silence(self, said: str) -> ProviderError:
        """Nothing of an answer arrived for as long as is waited."""
        text = f"{self._launch.provider} got no further for {self._launch.timeout_secs:g} s, and was ended; "
        login = f"it may wait for a login: see {self._launch.about.sign_in}"
        return ProviderError(text + (self.quote_last_words(said) if said else login), kind=_Kind.TIMEOUT)

    def quote_last_words(self, said: str) -> str:
        """What it last said was wrong, or wrote for people, with the remedy where it lacks a login."""
        is_login = self._classify(said, None) is _Kind.AUTHENTICATION
        remedy = f"; sign in with {self._launch.about.sign_in}" if is_login else ""
        return f"{self._launch.about.name} last said: {self._clean_text(said)}{remedy}"

    def explain_call(self, tool: str) -> ProviderError:
        """The program began to do something instead of answering."""
        text = (
            f"{self._launch.provider} tried to use {self._clean_text(tool)} and was ended: it may only answer, "
            "from what it is given"
        )
        return ProviderError(text, kind=_Kind.BAD_REQUEST)

    def explain_damage(self, what: str) -> ProviderError:
        """What the program writes is not what this version of quorum can read."""
        text = (
            f"{self._launch.about.name} of provider {self._launch.provider} cannot be understood: "
            f"{self._clean_text(what)}; docs/members.md names the versions that are known to work"
        )
        return ProviderError(text, kind=_Kind.DAMAGED_STREAM)

    def explain_unknown_model(self, model: str, known: list[str]) -> ProviderError:
        """The agent offers other models than the one that is wanted."""
        offered = ", ".join(self._clean_text(each) for each in known) or "none to choose from"
        text = (
            f"{self._launch.provider} does not offer the model {self._clean_text(model)}; it offers {offered}; "
            f"{self._launch.provider}/default leaves the choice to it"
        )
        return ProviderError(text, kind=_Kind.NOT_FOUND)

    def explain_tools_offered(self) -> ProviderError:
        """It was asked as a model that works with tools is."""
        text = (
            f"{self._launch.provider} only answers and calls no tools: use it in models.review, "
            "models.participants or models.moderator, and another model here"
        )
        return ProviderError(text, kind=_Kind.CONFIGURATION, only_answers=True)

    def _classify(self, message: str, status: int | None) -> _Kind:
        if speaks_of_length(status, message):
            return _Kind.TOO_LONG
        if status is not None:
            return _OF_STATUS.get(status, _Kind.SERVER)
        return next((kind for words, kind in _OF_WORDS if words.search(message)), _Kind.SERVER)

    def _clean_text(self, text: str) -> str:
        return fit_to_line(text, self._launch.secret) or "it gave no reason"
