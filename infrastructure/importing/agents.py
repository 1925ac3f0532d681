"""The agents whose things can be taken over, in the order of the help."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from quorum.domain.importing.takeover_item import AgentSetup, TakeoverItem
from quorum.domain.replacing import replace
from quorum.infrastructure.config.foreign.linked_paths import add_linked_paths
from quorum.infrastructure.importing.claude import read_claude
from quorum.infrastructure.importing.codex import read_codex
from quorum.infrastructure.importing.other_agents import read_copilot, read_gemini, read_kimi, read_opencode
from quorum.infrastructure.importing.places import ImportPlaces

READERS: Mapping[str, Callable[[ImportPlaces], AgentSetup]] = {
    "claude": read_claude,
    "codex": read_codex,
    "gemini": read_gemini,
    "copilot": read_copilot,
    "opencode": read_opencode,
    "kimi": read_kimi,
}
"""What reads the things of an agent, by its name on the command line."""


def read_setups(names: Iterable[str], places: ImportPlaces) -> list[AgentSetup]:
    """What is found of these agents. Of two things that would become one here the first is taken. Blocks."""
    taken: dict[str, str] = {}
    setups: list[AgentSetup] = []
    for setup in (READERS[name](places) for name in names):
        findings = tuple(_settle(finding, setup.agent, taken) for finding in setup.findings)
        if findings or setup.problems:
            setups.append(replace(setup, findings=findings))
    return setups


def _settle(finding: TakeoverItem, agent: str, taken: dict[str, str]) -> TakeoverItem:
    if finding.rule is not None:
        rule = add_linked_paths(finding.rule, finding.project or "")
        here = ", ".join(f"{rule.answer} {text}" for text in rule.rules)
        finding = replace(finding, rule=rule, here=here)
    for name in (finding.target, *finding.server):
        if name and (first := taken.setdefault(name, agent)) != agent:
            why = f"not taken over: that of {first} is taken"
            return replace(finding, here="", why=why, server={}, source="", target="")
    return finding
