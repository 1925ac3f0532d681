"""What there is to choose from, as rows: providers, their models, and what became of asking them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from quorum.domain.text.fuzzy import fit


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
