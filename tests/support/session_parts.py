"""Other parts for a session of a test than those that its settings would give it, before they are used."""

from __future__ import annotations

from collections.abc import Callable

from quorum.application.ports.storage import Ledger
from quorum.domain.replacing import replace
from quorum.infrastructure.container import Container, providers


def change_inputs(container: Container, **changes: object) -> None:
    """Give the session these inputs in place of those it has. Nothing of it may have been built."""
    given = container.inputs()
    container.inputs.override(providers.Object(replace(given, **changes)))  # type: ignore[arg-type]


def change_ledger(container: Container, wrap: Callable[[Ledger], Ledger]) -> None:
    """Have the session write to what `wrap` makes of its ledger."""
    record = container.inputs().record
    assert record.ledger is not None
    change_inputs(container, record=replace(record, ledger=wrap(record.ledger)))


def put(group: object, **parts: object) -> None:
    """Put these parts into a group, for all that is built after it."""
    for name in parts:
        assert hasattr(type(group), name) or name in vars(group), f"{type(group).__name__} has no {name}"
    vars(group).update(parts)
