"""The options of a permission request, for clients that draw names and for those that draw kinds."""

from __future__ import annotations

import pytest

from quorum.acp_agent.client_approver import ClientApprover
from quorum.acp_agent.standard_io import Outbox


async def refuse(*_: object) -> object:
    raise AssertionError("nothing is asked")


def list_offered(rule: str | None, folder: str | None, *, shows_option_names: bool) -> list[tuple[str, str]]:
    approver = ClientApprover(refuse, Outbox(refuse), refuse, shows_option_names=shows_option_names)
    return [(option.option_id, option.kind) for option in approver._list_options(rule, folder)]


def test_a_client_that_draws_names_is_offered_every_scope_of_a_rule() -> None:
    offered = list_offered("write_file(a.txt)", "/other", shows_option_names=True)

    assert [option for option, _ in offered] == [
        "allow",
        "always-session",
        "always-project",
        "allow-folder",
        "reject",
    ]


@pytest.mark.parametrize(
    ("rule", "folder", "always"),
    [
        ("write_file(a.txt)", None, ["always-session"]),
        ("write_file(a.txt)", "/other", ["always-session"]),
        (None, "/other", ["allow-folder"]),
        (None, None, []),
    ],
)
def test_a_client_that_may_draw_kinds_is_offered_one_option_of_each_and_the_narrowest(
    rule: str | None, folder: str | None, always: list[str]
) -> None:
    offered = list_offered(rule, folder, shows_option_names=False)

    assert [option for option, _ in offered] == ["allow", *always, "reject"]
    kinds = [kind for _, kind in offered]
    assert len(kinds) == len(set(kinds))
