"""The lines of a review of effects, and the words that stand below the marked one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual.content import Content

from quorum.application.staging.effects_voting import EffectsPacket
from quorum.application.staging.shared_files import OWNER, FileAuthors, name_subagents
from quorum.domain.calls.command_end import CommandEnd
from quorum.domain.review.ballot import Verdict
from quorum.domain.staging.effects_answer import EffectsVotes
from quorum.domain.staging.effects_overview import EffectRow, EffectsOverview, FoldedTree, get_mark, name_row
from quorum.domain.staging.layer_effects import LayerCommit, LayerEffect
from quorum.domain.staging.layer_work import LayerWork, SubagentChanges
from quorum.domain.text.amounts import format_amount, format_size
from quorum.domain.text.printable import make_printable
from quorum.tui.screens.effects.draft import EffectsDraft
from quorum.tui.transcript.cells.lines import wrap_words
from quorum.tui.transcript.kinds.diff import word_counts
from quorum.tui.widgets.colours import QUIET

_WARNING = "$text-warning"
_MOST_LISTED = 500
_LONGEST_COMMAND = 30
_SPOKEN_BOXES = {"[x]": "taken", "[~]": "partly taken", "[ ]": "left out"}


def render_row(
    row: EffectRow,
    draft: EffectsDraft,
    objections: Mapping[str, Sequence[str]],
    votes: EffectsVotes | None,
    width: int,
    changers: Sequence[SubagentChanges] = (),
    *,
    new_name: str = "",
    spoken: bool = False,
) -> Content:
    """One line: whether it is applied, what happens to it, which subagents did so, and how much.

    `new_name`: where a deleted file went; `spoken`: without signs.
    """
    box = "[~]" if draft.is_partly(row) else "[x]" if draft.is_in(row) else "[ ]"
    box = _SPOKEN_BOXES[box] if spoken else box
    quoted = frozenset(votes.quoted.values() if votes else ())
    words, style = _describe(row, draft, objections, quoted, new_name, spoken=spoken)
    words = " · ".join([*(each.name for each in changers), *filter(None, [words])])
    name = make_printable(name_row(row), newlines=False)
    room = max(width - len(box) - Content(words).cell_length - 5, width // 3)
    path = Content(name)
    while name and path.cell_length > room:
        name = name[1:]
        path = Content("…" + name)
    gap = " " * max(2, width - len(box) - 3 - path.cell_length - Content(words).cell_length)
    sign = get_mark(row.kind) if isinstance(row, LayerEffect) else "c" if isinstance(row, LayerCommit) else "·"
    if spoken:
        sign = row.kind.value if isinstance(row, LayerEffect) else ""
    return Content.assemble(
        f"{box} {sign} ", path if draft.is_in(row) else path.stylize(QUIET), gap, (words, style)
    )


def _describe(
    row: EffectRow,
    draft: EffectsDraft,
    objections: Mapping[str, Sequence[str]],
    quoted: frozenset[str],
    new_name: str,
    *,
    spoken: bool,
) -> tuple[str, str]:
    match row:
        case LayerCommit():
            words = [format_amount(row.count, "commit")] if row.count else [_move_ref(row)]
        case FoldedTree():
            gone = f", {row.deleted:,} deleted" if row.deleted else ""
            return f"{row.amount}{gone} · {format_size(row.size)}", QUIET
        case LayerEffect():
            words = [word_counts(row.added, row.removed, spoken=spoken)] if row.added or row.removed else []
            words = [f"renamed to {make_printable(new_name, newlines=False)}"] if new_name else words
            words[:0] = ["renamed"] if row.renamed_from else []
            words[:0] = ["a reviewer objects"] if row.path in quoted else []
            words[:0] = ["a guard objects"] if row.path in objections else []
            words[:0] = ["protected"] if row.protected else []
    if row.conflict:
        words[:0] = ["replaces yours" if draft.overwrites(row) else "changed by you too"]
    warns = bool(row.conflict) or (
        isinstance(row, LayerEffect) and (row.protected or row.path in objections or row.path in quoted)
    )
    return " · ".join(words), _WARNING if warns else QUIET


def _move_ref(commit: LayerCommit) -> str:
    if not commit.before or not commit.after:
        return "deleted" if not commit.after else "new"
    return f"moved from {commit.before[:8]} to {commit.after[:8]}"


def describe_commit(commit: LayerCommit) -> str:
    """The subjects of the commits of a ref."""
    subjects = [f"  {subject}" for subject in commit.subjects]
    more = commit.count - len(subjects)
    head = f"{commit.ref}: from {commit.before[:12] or 'nothing'} to {commit.after[:12] or 'nothing'}"
    conflict = [commit.conflict] if commit.conflict else []
    return "\n".join(
        [head, *conflict, *subjects, *([f"  … and {more:,} more"] if more > 0 and subjects else [])]
    )


def describe_tree(tree: FoldedTree) -> str:
    """The paths of a folded tree, the first ones of very many."""
    more = len(tree.paths) - _MOST_LISTED
    paths = [make_printable(path, newlines=False) for path in tree.paths[:_MOST_LISTED]]
    return "\n".join([*paths, *([f"… and {more:,} more"] if more > 0 else [])])


def describe_objections(
    effect: LayerEffect, objections: Mapping[str, Sequence[str]], votes: EffectsVotes | None
) -> str:
    """What the guards and the reviewers say of a file, a line each, to stand above its diff: safe to draw."""
    lines = [f"guard: {reason}" for reason in objections.get(effect.path, ())]
    if votes is not None:
        about = [vote for vote in votes.votes if votes.quoted.get(vote.model) == effect.path]
        lines += map(votes.describe, about)
    return "\n".join(make_printable(line, newlines=False) for line in lines)


def describe_authors(authors: FileAuthors, work: LayerWork, steps_key: str) -> str:
    """Which subagents replaced lines of others in a file, a line each, above its diff: safe to draw."""
    names = name_subagents(work)
    lines = [
        f"{names[winner]} replaced {format_amount(lines, 'line')} of {names[loser]} · {steps_key} shows both"
        for (loser, winner), lines in sorted(authors.replaced.items())
        if loser in names and winner in names
    ]
    return "\n".join(make_printable(line, newlines=False) for line in lines)


def name_hunks(authors: FileAuthors, work: LayerWork) -> tuple[str, ...]:
    """Whose each hunk of a file is, safe to draw."""
    names = {**name_subagents(work), "": OWNER}
    found = (sorted(names.get(each, "") for each in who) for who in authors.hunks)
    return tuple(make_printable(" and ".join(each), newlines=False) for each in found)


def summarise_work(packet: EffectsPacket, *, commands_key: str, subagent_key: str) -> list[tuple[str, bool]]:
    """What was done, on few lines, each with whether it is a warning: commands, hosts, what is not held.
    `commands_key` shows the commands, and `subagent_key` leaves out what one subagent changed."""
    work, effects = packet.work, packet.effects
    lines: list[tuple[str, bool]] = []
    if work.commands:
        failed = sum(command.failed for command in work.commands)
        count = format_amount(len(work.commands) + work.more, "command")
        ended = f"{failed:,} failed" if failed else "none failed"
        lines.append((f"ran {count}, {ended} · {commands_key} shows them", False))
    if test := next((command for command in reversed(work.commands) if command.is_test), None):
        said = f" · {test.last_lines[-1]}" if test.last_lines else ""
        lines.append((f"tests: {_cut(_flatten(test))} · {test.ending}{said}", test.failed))
    if work.subagents:
        count = format_amount(work.subagents, "subagent")
        lines.append((f"{count} worked in it: their own sessions say what they ran", True))
    if work.changes:
        lines.append((f"{subagent_key} leaves out all that the marked file's subagent changed", False))
    if work.jobs:
        lines.append((f"still running: {', '.join(work.jobs)}", True))
    if (votes := packet.votes) is not None:
        warns = votes.verdict != Verdict.APPROVED
        lines.append((f"reviewers: {votes.count} · {commands_key} shows why", warns))
    if packet.hosts:
        lines.append((f"asked for: {', '.join(packet.hosts)}", False))
    lines += [(f"not held back: {words}", True) for words in effects.not_captured]
    lines += [(words, True) for words in (*effects.unmerged, *EffectsOverview.of(effects).remarks)]
    if effects.read_meanwhile:
        count = format_amount(len(effects.read_meanwhile), "file")
        names = ", ".join(effects.read_meanwhile[:3])
        lines.append((f"you changed {count} meanwhile that the turn may have seen as before: {names}", True))
    return [(make_printable(line, newlines=False), warns) for line, warns in lines]


def describe_commands(packet: EffectsPacket, *, width: int, spoken: bool = False) -> str:
    """The votes, in lines of this width, and all commands with how they ended, and the last lines of those that
    failed or ran tests."""
    votes, (bad, good) = packet.votes, ("failed: ", "") if spoken else ("✗ ", "✓ ")
    said = (votes.sentence, *votes.lines, "") if votes is not None else ()
    lines = [line for each in said for line in wrap_words(each, width)]
    lines += [f"… {packet.work.more:,} earlier commands"] if packet.work.more else []
    for command in packet.work.commands:
        lines.append(f"{bad if command.failed else good}{_flatten(command)} · {command.ending}")
        if command.failed or command.is_test:
            lines += [f"    {line}" for line in command.last_lines]
    return "\n".join(lines if packet.work.commands else [*lines, "no command ran"])


def _cut(text: str) -> str:
    """Its end, which names the tests where more runs before them."""
    return text if len(text) <= _LONGEST_COMMAND else "…" + text[1 - _LONGEST_COMMAND :]


def _flatten(command: CommandEnd) -> str:
    return " ".join(command.command.split())
