"""The settings of what tells a person elsewhere that a decision waits."""

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct

from quorum.infrastructure.config.about import About


class PushTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One place that is told, and when."""

    command: Annotated[
        tuple[str, ...],
        About(
            description="A program and its arguments, run without a shell and with your rights; it reads one "
            "JSON object from its standard input.",
        ),
    ] = ()
    url: Annotated[
        str,
        About(
            description="Instead of a command, an address that the sentence is posted to as ntfy takes it: "
            '"https://ntfy.example.com/TOPIC".',
        ),
    ] = ""
    browsers: Annotated[
        bool,
        About(
            description="Instead of both, the browsers that were subscribed on /approvals/notify of "
            "quorum serve --approvals, by web push.",
        ),
    ] = False
    after_secs: Annotated[
        int,
        Meta(ge=0, le=86_400),
        About(
            description="Seconds that a decision has waited by then. Tables with more are told only if nobody "
            "has answered meanwhile.",
        ),
    ] = 60
    every_secs: Annotated[
        int,
        Meta(ge=1, le=86_400),
        About(
            description="Seconds between two messages at least; what waits meanwhile is counted in the next.",
        ),
    ] = 30
    link: Annotated[
        str,
        About(
            description="An address that the message leads to, such as that of your quorum serve; {digest} "
            "stands for the decision's.",
        ),
    ] = ""


def find_push_problem(table: Mapping[str, object]) -> str | None:
    """What is wrong with a table as a whole."""
    if sum(bool(table.get(name)) for name in ("command", "url", "browsers")) != 1:
        return 'needs one of command = ["PROGRAM", …], url = "https://…" and browsers = true'
    for name in ("url", "link"):
        if (value := str(table.get(name) or "")) and not value.startswith(("https://", "http://")):
            return f"has {name} = {value[:60]!r}, which is no address: it begins with https:// or http://"
    return None
