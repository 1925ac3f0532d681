"""The settings `[telemetry]`: traces and metrics, sent only where they are asked for."""

from typing import Annotated

from msgspec import Meta, Struct

from quorum.infrastructure.config.about import About, ProjectRule
from quorum.infrastructure.config.web_address import is_web_address


def _is_empty_or_address(text: str) -> bool:
    return not text or is_web_address(text)


class TelemetryTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Where telemetry goes, and whether it holds texts."""

    otlp_endpoint: Annotated[
        str,
        Meta(max_length=2048),
        About(
            description="Address of an OpenTelemetry collector that takes OTLP over HTTP, without /v1/traces. "
            "Empty: nothing is sent, and nothing is loaded for it.",
            project=ProjectRule.OWN,
            expected='an address that starts with http:// or https://, for example "http://localhost:4318"',
            accepts=_is_empty_or_address,
        ),
    ] = ""
    content: Annotated[
        bool,
        About(
            description="Send prompts, answers, arguments and outputs, too, with secrets hidden. Otherwise "
            "only names, numbers and outcomes are sent.",
            project=ProjectRule.OWN,
        ),
    ] = False
