"""`quorum staged`: what is done with the layers that no process works in."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, TypeVar

from quorum.application.export.effects_report import encode_outcome, encode_packet, render_effects
from quorum.cli.confirmation import confirm
from quorum.cli.staged import (
    ApplyOptions,
    DiscardOptions,
    ListLayersOptions,
    OneLayerOptions,
    ShowLayerOptions,
)
from quorum.command_line.options import StartOptions
from quorum.domain.errors import LedgerError, StagingError
from quorum.domain.staging.effects_answer import EffectsAnswer
from quorum.domain.staging.effects_overview import EffectsOverview
from quorum.domain.staging.layer_effects import AppliedEffects
from quorum.domain.text.amounts import format_age, format_amount
from quorum.domain.text.printable import make_printable
from quorum.errors import UsageError, complain
from quorum.infrastructure.staging.layer_folder import StoredLayer, list_layers, list_unreadable, read_layer
from quorum.infrastructure.staging.waiting_layers import can_be_applied_again, can_be_taken_back, is_waiting
from quorum.infrastructure.wall_clock import read_wall_clock_ms
from quorum.session_store import SessionStore
from quorum.text_table import Column, render_text_table

if TYPE_CHECKING:
    from quorum.application.ports.storage import Ledger, Storage
    from quorum.application.staging.effects_review import EffectsReview
    from quorum.application.staging.effects_voting import EffectsPacket
    from quorum.domain.sessions.session_summary import LedgerRecord
    from quorum.domain.text.json_value import JsonValue
    from quorum.infrastructure.config.schema import Settings
    from quorum.infrastructure.staging.entered_layer import EnteredLayer
    from quorum.infrastructure.staging.layer_folder import StoredLayer


REFUSED = 1
"""The exit code where nothing was applied or taken back."""
_FEWEST_DIGITS = 16
_MOST_NAMED = 20

Wish = TypeVar("Wish", bound=StartOptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerStore:
    """The layers of this person, and what is needed to open one. `here` is the folder of the command."""

    layers: tuple[StoredLayer, ...]
    state: Path | None
    here: str
    sessions: SessionStore
    storage: Storage
    mask: Callable[[str], str]

    def find(self, name: str, *, fits: Callable[[StoredLayer], bool] = is_waiting) -> StoredLayer:
        """The layer whose id is, or begins with, this; without one, the only one of the folder that `fits`, of
        those that no process works in if there are some. Raises UsageError."""
        if not name:
            found = [layer for layer in self.layers if layer.workspace == self.here and fits(layer)]
            found = [layer for layer in found if not layer.is_held] or found
        else:
            begins = [layer for layer in self.layers if layer.id.startswith(name)]
            found = [layer for layer in begins if layer.id == name] or begins
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(layer.id for layer in found[:_MOST_NAMED])
            raise UsageError(f"several layers fit: {names}; name one of them")
        what = "waits in" if fits is is_waiting else "was applied from"
        what = "was taken back in" if fits is can_be_applied_again else what
        missing = f"there is no layer {name}" if name else f"nothing {what} a layer of {self.here}"
        raise UsageError(f"{missing}; quorum staged list --all shows all that there are")

    @asynccontextmanager
    async def open(self, stored: StoredLayer, *, decides: bool = True) -> AsyncIterator[EffectsReview]:
        """The review of a layer that no process works in, on the record of the session that last did. Where it
        `decides` something and there is no record any more, that is said.

        Raises StagingError where a process has it, and LedgerError where its session is written elsewhere.
        """
        from quorum.application.event_bus import EventBus
        from quorum.application.staging.effects_review import EffectsReview
        from quorum.domain.conversation.history import UserMessage
        from quorum.domain.events.event import MessageAdded
        from quorum.infrastructure.files.diff import render_unified_diff
        from quorum.infrastructure.staging.workspace_layer import open_layer
        from quorum.infrastructure.storage import build_path_policy

        policy = build_path_policy(self.sessions.settings, (Path(stored.workspace),))
        with open_layer(stored, os.environ, policy.is_protected, complain) as layer:
            ledger, records = await self._open_record(stored, decides=decides)
            bus = EventBus((), ledger=ledger, mask=self.sessions.gather_secrets(), past=records)

            async def queue_note(text: str) -> None:
                if ledger is not None and not bus.state.open_calls:
                    await bus.record(MessageAdded(message=UserMessage(text)))

            try:
                yield EffectsReview(layer, bus, queue_note=queue_note, render_diff=render_unified_diff)
            finally:
                if ledger is not None:
                    await ledger.aclose()

    async def _open_record(
        self, stored: StoredLayer, *, decides: bool
    ) -> tuple[Ledger | None, Sequence[LedgerRecord]]:
        from quorum.domain.sessions.session_summary import ContinuedSession

        # A record that cannot be read is none that is gone: what is decided would be on no record.
        if stored.session not in {each.id for each in await self.storage.archive.list_sessions()}:
            gone = f"the session of the layer {stored.id} is not on record any more, so this is not either"
            complain([gone] if decides else [])
            return None, ()
        opened = self.storage.open_session(ContinuedSession(stored.session), cwd=stored.workspace)
        complain(opened.notices)
        if opened.ledger is None:
            raise LedgerError(str(opened.in_use or f"the session {stored.session} cannot be written"))
        return opened.ledger, opened.records


def act_on_layers(
    options: Wish, root: Path, act: Callable[[Wish, LayerStore], Coroutine[object, object, int]]
) -> int:
    """Do it with the layers; the exit code. Raises ConfigError, LedgerError and UsageError."""
    from quorum.domain.sessions.session_facts import escape_surrogates
    from quorum.infrastructure.config.paths import locate_state_folder
    from quorum.infrastructure.storage import open_storage
    from quorum.settings import load

    loaded = load(options, root, needs_project=False)
    complain([loaded.left_out] if loaded.left_out else [])
    state = locate_state_folder(os.environ)
    layers = list_layers(state) if state is not None else ()
    if isinstance(options, OneLayerOptions):
        here = os.path.realpath(root)
        named = (
            each
            for each in layers
            if (each.id.startswith(options.layer) if options.layer else each.workspace == here)
        )
        for stored in named:
            complain(merge_left(stored, loaded.settings, loaded.files))
    storage = open_storage(loaded.settings.storage, os.environ)
    complain(storage.notices)
    try:
        sessions = SessionStore(
            archive=storage.archive,
            contents=storage.contents,
            settings=loaded.settings,
            root=root,
            cwd=escape_surrogates(str(root)),
        )
        store = LayerStore(
            layers=layers,
            state=state,
            here=os.path.realpath(root),
            sessions=sessions,
            storage=storage,
            mask=sessions.build_mask(),
        )
        return asyncio.run(act(options, store))
    except StagingError as error:
        raise UsageError(str(error)) from error
    finally:
        storage.close()


async def list_waiting(wish: ListLayersOptions, store: LayerStore) -> int:
    """Print the layers in which changes wait; always 0."""
    here = [layer for layer in store.layers if wish.all or layer.workspace == store.here]
    shown = [layer for layer in here if _may_wait(layer)]
    if store.state is not None:
        complain(list_unreadable(store.state, None if wish.all else Path(store.here)))
    if wish.json:
        _print_json([_encode_layer(layer) for layer in shown])
    elif not shown:
        where = "any folder" if wish.all else store.here
        complain([f"nothing waits in a layer of {where}"])
    else:
        now = read_wall_clock_ms()
        columns: tuple[Column[StoredLayer], ...] = (
            Column("LAYER", lambda layer: layer.id, whole=True),
            Column("BEGUN", lambda layer: format_age(layer.made_ms, now)),
            Column("SESSION", lambda layer: layer.session or "-", whole=True),
            Column("IN USE", lambda layer: "yes" if layer.is_held else "no"),
            Column(
                "FOLDER",
                lambda layer: make_printable(store.mask(layer.workspace), newlines=False),
                narrowest=20,
            ),
        )
        width = get_terminal_size().columns if sys.stdout.isatty() else None
        print("\n".join(render_text_table(columns, shown, width=width)))
    return 0


def _may_wait(layer: StoredLayer) -> bool:
    """Whether changes wait in it, also where that cannot be seen, which is said."""
    try:
        return is_waiting(layer)
    except StagingError as error:
        complain([str(error)])
        return True


def _encode_layer(layer: StoredLayer) -> dict[str, JsonValue]:
    return {
        "id": layer.id,
        "workspace": layer.workspace,
        "session": layer.session or None,
        "made_ms": layer.made_ms,
        "in_use": layer.is_held,
    }


async def show(wish: ShowLayerOptions, store: LayerStore) -> int:
    """Print the effects of a layer, or how each of its files differs; always 0."""
    stored = store.find(wish.layer)
    async with store.open(stored, decides=False) as review:
        packet = await review.read()
        files = EffectsOverview.of(packet.effects).files
        if wish.json:
            _print_json(encode_packet(stored.id, packet, store.mask))
        elif wish.patch:
            for effect in files:
                for line in store.mask(await review.diff(effect)).splitlines():
                    print("\t".join(make_printable(part, newlines=False) for part in line.split("\t")))
        else:
            objections = await review.judge(files)
            print(render_effects(stored.id, packet, store.mask, objections))
    return 0


async def apply(wish: ApplyOptions, store: LayerStore) -> int:
    """Apply what was chosen; 0 where it was, REFUSED where nothing was."""
    stored = store.find(wish.layer)
    async with store.open(stored) as review:
        packet = await review.read()
        _check_digest(wish.digest, packet)
        given = EffectsAnswer(left_out=wish.left_out, included=wish.included, overwritten=wish.overwritten)
        choice = given.choose(packet.effects)
        applied = await review.apply(packet, choice)
        waits = len(choice.left_out) if applied.is_done else 0
    _print_outcome(wish, stored, store, applied, verb="applied")
    if waits and not wish.json:
        complain([f"{format_amount(waits, 'path')} left in the layer {stored.id}"])
    return 0 if applied.is_done else REFUSED


def _check_digest(digest: str, packet: EffectsPacket) -> None:
    if not digest:
        return
    if len(digest) < _FEWEST_DIGITS:
        raise UsageError(f"--digest takes the whole digest or at least {_FEWEST_DIGITS} digits of it")
    if not packet.digest.startswith(digest.lower()):
        raise UsageError(
            f"the layer holds other changes than those of {digest}: look at them with quorum staged show"
        )


async def discard(wish: DiscardOptions, store: LayerStore) -> int:
    """Drop the effects of a layer once the person agreed, or said so before; always 0."""
    stored = store.find(wish.layer)
    try:
        async with store.open(stored) as review:
            packet, summary = await _read_to_discard(review)
            if not wish.yes and not confirm(
                f"Discard {summary} of the layer {stored.id} for good?",
                otherwise="--yes discards without asking",
            ):
                complain(["nothing was discarded"])
                return 0
            await review.discard(packet)
    except LedgerError as error:  # perhaps for want of the room that this would make
        upper = read_layer(stored.folder).upper
        raise LedgerError(f"{error}; if it is the layer that leaves no room, remove {upper}") from error
    if wish.json:
        _print_json({"layer": stored.id, "done": True})
    else:
        complain([f"discarded: {summary}"])
    return 0


async def _read_to_discard(review: EffectsReview) -> tuple[EffectsPacket | None, str]:
    """What is to be dropped, in words as well: also a layer that cannot be read any more can be got rid of."""
    try:
        packet = await review.read()
    except StagingError as error:
        complain([str(error)])
        return None, "all that cannot be read"
    return packet, EffectsOverview.of(packet.effects).summary


async def undo(wish: OneLayerOptions, store: LayerStore) -> int:
    """Take back what was applied last; 0 where it was, REFUSED where nothing was."""
    stored = store.find(wish.layer, fits=can_be_taken_back)
    async with store.open(stored) as review:
        undone = await review.undo()
    _print_outcome(wish, stored, store, undone, verb="taken back")
    return 0 if undone.is_done else REFUSED


async def redo(wish: OneLayerOptions, store: LayerStore) -> int:
    """Apply again what was taken back last; 0 where it was, REFUSED where nothing was."""
    stored = store.find(wish.layer, fits=can_be_applied_again)
    async with store.open(stored) as review:
        redone = await review.redo()
    _print_outcome(wish, stored, store, redone, verb="applied again")
    return 0 if redone.is_done else REFUSED


def _print_outcome(
    wish: OneLayerOptions, stored: StoredLayer, store: LayerStore, applied: AppliedEffects, *, verb: str
) -> None:
    if wish.json:
        _print_json(encode_outcome(stored.id, applied, store.mask))
    elif applied.is_done:
        refs = f" and {format_amount(len(applied.refs), 'ref')}" if applied.refs else ""
        complain([f"{format_amount(len(applied.paths), 'file')}{refs} {verb}"])
    else:
        complain([f"nothing was {verb}; your folder is as it was"])
        complain(f"{path}: {why}" if path else why for path, why in list(applied.refused.items())[:_MOST_NAMED])
        if (more := len(applied.refused) - _MOST_NAMED) > 0:
            complain([f"and {more:,} more"])


def _print_json(value: object) -> None:
    print(json.dumps(value, indent=1))


def merge_left(stored: StoredLayer, settings: Settings, files: Sequence[Path]) -> Sequence[str]:
    """Sentences about it. `files` are those of the settings. No storage may be open: it is done in a fork."""
    from quorum.infrastructure.staging.layer_folder import hold_layer
    from quorum.infrastructure.staging.merged_work import merge_from_outside
    from quorum.infrastructure.staging.subagent_layer import describe_unmerged
    from quorum.infrastructure.staging.workspace_layer import recover

    async def merge(layer: EnteredLayer) -> Sequence[str]:
        return await _merge(layer, settings, files)

    if stored.is_held or not os.path.isdir(stored.workspace):
        return ()
    try:
        with hold_layer(stored.folder) as folder:
            if not describe_unmerged(folder):
                return ()
            return [*recover(folder, os.environ), *merge_from_outside(folder, merge)]
    except StagingError as error:
        return [str(error)]


async def _merge(layer: EnteredLayer, settings: Settings, files: Sequence[Path]) -> Sequence[str]:
    from quorum.application.event_bus import EventBus
    from quorum.domain.events.masking import SecretMask
    from quorum.infrastructure.files.workspace import Workspace
    from quorum.infrastructure.secrets.known import SessionSecrets, build_secret_test
    from quorum.infrastructure.staging.merged_work import LeftWork, open_stored_records
    from quorum.infrastructure.storage import build_path_policy, list_own_paths, open_keeper, open_storage

    workspace = Workspace(roots=[Path(layer.folder.workspace)])
    own = list_own_paths(settings, workspace.roots, os.environ, files)
    policy = build_path_policy(settings, workspace.roots, own, files)
    mask = SecretMask()
    secrets = SessionSecrets(mask, settings=settings, environ=os.environ, policy=policy)
    secrets.gather()
    said = list[str]()

    def open_events(ledger: Ledger, past: Sequence[LedgerRecord]) -> EventBus:
        return EventBus((), ledger=ledger, mask=mask, past=past)

    async def tell(text: str, _is_done: bool) -> None:
        said.append(text)

    storage = open_storage(settings.storage, os.environ)
    try:
        said += storage.notices
        keeper = open_keeper(storage, workspace, policy, build_secret_test(mask), secrets.learn_from_file)
        open_record = open_stored_records(storage, layer.folder.workspace, open_events)
        try:
            await LeftWork(layer, os.environ, keeper, open_record, tell).merge()
        finally:
            await keeper.aclose()
    finally:
        storage.close()
    return said
