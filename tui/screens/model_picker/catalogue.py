"""What there is to choose from, as rows: providers, their models, and what became of asking them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tui.screens.model_picker.matching import NameMatcher


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
    score: float = 0.0
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

    def arrived(self, provider: str, models: Sequence[str]) -> None:
        """A provider has listed its models."""
        known = tuple(dict.fromkeys(models))
        own = () if self.current in known or provider != self.providers[0] else (self.current,)
        self._models[provider] = (*own, *known)
        self._remarks[provider] = "" if known else "lists no models"

    def failed(self, provider: str, sentence: str) -> None:
        """A provider could not be asked; the sentence says why."""
        self._remarks[provider] = sentence

    def rows(self, query: str) -> list[Row]:
        """The rows that fit what is typed, best first within each provider."""
        query = query.strip()
        matcher = NameMatcher(query)
        rows: list[Row] = []
        for provider in self.providers:
            offers = list(self._offers(provider, matcher))
            remark = self._remarks[provider]
            if remark and not offers and not provider.startswith(query.partition("/")[0]):
                continue
            if offers or remark:
                rows += [Heading(provider), *offers, *([ModelRemark(remark)] if remark else [])]
        listed = {model for models in self._models.values() for model in models}
        if _is_full_name(query) and query not in listed:
            rows.append(ModelOffer(query, as_typed=True))
        return rows

    def _offers(self, provider: str, matcher: NameMatcher) -> Iterator[ModelOffer]:
        found = []
        for model in self._models.get(provider, ()):
            start = len(provider) + 1
            score, hits = matcher.match(model[start:])  # its provider's name is the same for all of them
            if score:
                found.append(ModelOffer(model, tuple(hit + start for hit in hits), 2 * score))
            elif (whole := matcher.match(model))[0]:
                found.append(ModelOffer(model, tuple(whole[1]), whole[0]))
        return iter(sorted(found, key=lambda offer: -offer.score))


def best_row(rows: Sequence[Row], query: str, current: str) -> int | None:
    """The row to choose unless the person moves: what holds the very text typed, else what was typed whole,
    else what fits best; where nothing is typed, the current model.
    """
    typed = query.strip().lower()
    offers = [(place, row) for place, row in enumerate(rows) if isinstance(row, ModelOffer)]
    if not offers:
        return None
    if not typed:
        return next((place for place, offer in offers if offer.model == current), offers[0][0])

    def worth(placed: tuple[int, ModelOffer]) -> tuple[bool, bool, float]:
        offer = placed[1]
        return not offer.as_typed and typed in offer.model.lower(), offer.as_typed, offer.score

    return max(offers, key=worth)[0]


def _is_full_name(text: str) -> bool:
    provider, _, name = text.partition("/")
    return bool(provider and name) and not any(letter.isspace() for letter in text)
