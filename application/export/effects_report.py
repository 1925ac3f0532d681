"""The effects of a layer as lines and as JSON. Everything is masked and safe to print."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from quorum.application.export.session_json import mask_json
from quorum.application.staging.effects_review import list_remarks
from quorum.application.staging.effects_voting import EffectsPacket
from quorum.domain.replacing import replace
from quorum.domain.staging.effects_overview import EffectsOverview, FoldedTree, get_mark
from quorum.domain.staging.layer_effects import AppliedEffects, LayerCommit, LayerEffect
from quorum.domain.staging.layer_work import SubagentChanges
from quorum.domain.struct_json import struct_to_json
from quorum.domain.text.amounts import format_amount, format_size
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.printable import make_printable

_MOST_FOLDED = 100
_MOST_NAMED = 20


def render_effects(
    layer: str,
    packet: EffectsPacket,
    mask: Callable[[str], str],
    objections: Mapping[str, Sequence[str]],
) -> str:
    """All that would be applied, a line for each file, below what was done and what is not held back."""
    overview = EffectsOverview.of(packet.effects)
    lines = [f"layer       {layer}", f"folder      {packet.effects.workspace}", f"digest      {packet.digest}"]
    work = packet.work
    lines += [f"commands    {work.more:,} earlier ones are not listed"] if work.more else []
    lines += [f"command     {' '.join(each.command.split())} · {each.ending}" for each in work.commands]
    lines += [f"running     {' '.join(job.split())}" for job in work.jobs]
    if work.subagents:
        count = format_amount(work.subagents, "subagent")
        lines.append(f"subagents   {count} worked in it: their own sessions say what they ran")
        lines += [f"subagent    {each.name} changed {_name_changes(each, packet)}" for each in work.changes]
    tests = [each for each in work.commands if each.is_test]
    lines += [f"tests       {line}" for line in (tests[-1].last_lines if tests else ())]
    lines += [f"asked for   {host}" for host in packet.hosts]
    lines += [f"not held    {words}" for words in packet.effects.not_captured]
    lines += [f"not merged  {words}" for words in packet.effects.unmerged]
    lines += [f"note        {words}" for words in overview.remarks]
    lines += [f"changed by you meanwhile: {path}" for path in packet.effects.read_meanwhile]
    if (votes := packet.votes) is not None:
        lines += [f"votes       {line}" for line in (votes.count, *votes.lines)]
    lines += ["", overview.summary]
    authors = _list_authors(packet)
    for row in overview.rows:
        lines += _render_row(row, objections, authors)
    return "\n".join(make_printable(mask(line), newlines=False) for line in lines)


def _name_changes(changes: SubagentChanges, packet: EffectsPacket) -> str:
    above = f"{packet.effects.workspace}/"
    paths = [path.removeprefix(above) for path in changes.paths]
    return ", ".join(paths[:_MOST_NAMED]) + (
        f" and {len(paths) - _MOST_NAMED:,} more" if paths[_MOST_NAMED:] else ""
    )


def _list_authors(packet: EffectsPacket) -> Mapping[str, list[str]]:
    """The names of the subagents that changed each path."""
    authors: dict[str, list[str]] = {}
    for changes in packet.work.changes:
        for path in changes.paths:
            authors.setdefault(path.removeprefix(f"{packet.effects.workspace}/"), []).append(changes.name)
    return authors


def _render_row(
    row: LayerCommit | LayerEffect | FoldedTree,
    objections: Mapping[str, Sequence[str]],
    authors: Mapping[str, Sequence[str]],
) -> list[str]:
    match row:
        case LayerCommit():
            moved = f"{row.before[:12] or 'nothing'} → {row.after[:12] or 'nothing'}"
            conflict = [f"    {row.conflict}"] if row.conflict else []
            return [f"c {row.ref}  {moved}", *conflict, *(f"    {subject}" for subject in row.subjects)]
        case FoldedTree():
            return [f"· {row.name}  {row.amount}, {format_size(row.size)}"]
        case LayerEffect():
            said = [f"by {', '.join(names)}"] if (names := authors.get(row.path)) else []
            said += [*list_remarks(row), *(f"guard: {reason}" for reason in objections.get(row.path, ()))]
            return [
                f"{get_mark(row.kind)} {row.path}  +{row.added:,} −{row.removed:,}",
                *(f"    {remark}" for remark in said),
            ]


def encode_packet(layer: str, packet: EffectsPacket, mask: Callable[[str], str]) -> JsonObject:
    """The effects for scripts. Of a folded tree the first paths are listed."""
    overview = EffectsOverview.of(packet.effects)
    trees = [replace(tree, paths=tree.paths[:_MOST_FOLDED]) for tree in overview.trees]
    value: JsonObject = {
        "layer": layer,
        "digest": packet.digest,
        "workspace": packet.effects.workspace,
        "summary": overview.summary,
        "files": [struct_to_json(effect) for effect in overview.files],
        "folded": [
            {**struct_to_json(shown), "files": len(tree.paths)}
            for shown, tree in zip(trees, overview.trees, strict=True)
        ],
        "commits": [struct_to_json(commit) for commit in packet.effects.commits],
        "commands": [{**struct_to_json(each), "is_test": each.is_test} for each in packet.work.commands],
        "more_commands": packet.work.more,
        "running": list(packet.work.jobs),
        "subagents": packet.work.subagents,
        "changes_of_subagents": [struct_to_json(each) for each in packet.work.changes],
        "hosts": list(packet.hosts),
        "not_captured": list(packet.effects.not_captured),
        "unmerged": list(packet.effects.unmerged),
        "read_meanwhile": list(packet.effects.read_meanwhile),
        "votes": None if packet.votes is None else struct_to_json(packet.votes),
    }
    return {key: mask_json(each, mask) for key, each in value.items()}


def encode_outcome(layer: str, applied: AppliedEffects, mask: Callable[[str], str]) -> JsonObject:
    """What came of applying or taking back, for scripts."""
    value = struct_to_json(applied)
    return {
        "layer": layer,
        "done": applied.is_done,
        **{key: mask_json(each, mask) for key, each in value.items()},
    }
