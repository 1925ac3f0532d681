"""Names of models in a column: as short as they can be while no two look alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

_ELLIPSIS = "…"


def shorten_model_names(models: Iterable[str], most: int) -> dict[str, str]:
    """Map each `PROVIDER/MODEL` to its own name without what follows a colon, in at most `most` characters.

    Where several share that name, they keep what follows the colon, and if need be their provider.
    """
    names = tuple(dict.fromkeys(models))
    forms = [tuple(_list_forms(model)) for model in names]
    counts = [Counter(level) for level in zip(*forms, strict=True)]
    short = {
        model: next((form for form, count in zip(of_model, counts, strict=True) if count[form] == 1), model)
        for model, of_model in zip(names, forms, strict=True)
    }
    return cut_apart(short, most)


def cut_apart(names: Mapping[str, str], most: int) -> dict[str, str]:
    """Cut names to at most `most` characters: at their end or, where two would look alike, at their beginning.

    Those that look alike even so have a number at their end.
    """
    heads = {key: _cut_end(name, most) for key, name in names.items()}
    tails = {key: _cut_beginning(name, most) for key, name in names.items()}
    taken = Counter(heads.values())
    cut: dict[str, str] = {}
    for key, name in names.items():
        shown = heads[key] if taken[heads[key]] == 1 else tails[key]
        number = 2
        while shown in cut.values():
            end = f"{_ELLIPSIS}{number}"
            shown = f"{name[: max(0, most - len(end))]}{end}"
            number += 1
        cut[key] = shown
    return cut


def _list_forms(model: str) -> Iterable[str]:
    """The ways to call a model, the shortest first."""
    provider, slash, _ = model.partition("/")
    own = model.rpartition("/")[2]
    yield own.partition(":")[0]
    yield own
    yield f"{provider}{slash}{own}"


def _cut_end(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: max(0, most - 1)]}{_ELLIPSIS}"


def _cut_beginning(text: str, most: int) -> str:
    return text if len(text) <= most else f"{_ELLIPSIS}{text[len(text) - max(0, most - 1) :]}"
