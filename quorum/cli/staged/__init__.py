"""`quorum staged`: what waits in layers, reviewed, applied and dropped without the app."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from quorum.command_line.command import CliCommand, CommandGroup, argument, flag
from quorum.command_line.options import StartOptions
from quorum.command_line.shared import CHOICE_OF_EFFECTS, PLACES


@dataclass(frozen=True, slots=True, kw_only=True)
class ListLayersOptions(StartOptions):
    """Which layers are listed, and how."""

    all: bool = False
    json: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OneLayerOptions(StartOptions):
    """The id of a layer or its beginning; empty for the only one of the folder in which changes wait."""

    layer: str = ""
    json: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowLayerOptions(OneLayerOptions):
    """Whether the changes are shown line by line."""

    patch: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyOptions(OneLayerOptions):
    """What is applied: all but `left_out`; of protected files those `included`; and the paths `overwritten` in
    place of what the person changed there. `digest` is the beginning of that which was approved."""

    left_out: tuple[str, ...] = ()
    included: tuple[str, ...] = ()
    overwritten: tuple[str, ...] = ()
    digest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscardOptions(OneLayerOptions):
    """`yes`: the person is not asked."""

    yes: bool = False


def _list(options: ListLayersOptions, root: Path) -> int:
    from quorum.cli.staged.actions import act_on_layers, list_waiting

    return act_on_layers(options, root, list_waiting)


def _show(options: ShowLayerOptions, root: Path) -> int:
    from quorum.cli.staged.actions import act_on_layers, show

    return act_on_layers(options, root, show)


def _apply(options: ApplyOptions, root: Path) -> int:
    from quorum.cli.staged.actions import act_on_layers, apply

    return act_on_layers(options, root, apply)


def _discard(options: DiscardOptions, root: Path) -> int:
    from quorum.cli.staged.actions import act_on_layers, discard

    return act_on_layers(options, root, discard)


def _undo(options: OneLayerOptions, root: Path) -> int:
    from quorum.cli.staged.actions import act_on_layers, undo

    return act_on_layers(options, root, undo)


def _redo(options: OneLayerOptions, root: Path) -> int:
    from quorum.cli.staged.actions import act_on_layers, redo

    return act_on_layers(options, root, redo)


_LAYER = argument(
    "layer",
    metavar="ID",
    nargs="?",
    help="the id of a layer, or its beginning; by default the only one of this folder with changes",
)
_JSON = flag("--json", help="print it as JSON")


COMMAND = CommandGroup(
    {
        "list": CliCommand(
            ListLayersOptions,
            _list,
            summary="List the layers of this folder in which changes wait.",
            arguments=(flag("--all", help="of all folders"), _JSON, *PLACES),
            examples=(("quorum staged list --all", "of all folders"),),
        ),
        "show": CliCommand(
            ShowLayerOptions,
            _show,
            summary="Print what stands in a layer and not in your folder.",
            arguments=(flag("--patch", help="line by line, as a unified diff"), _JSON, *PLACES, _LAYER),
            examples=(("quorum staged show --patch | less", "of the only layer with changes"),),
        ),
        "apply": CliCommand(
            ApplyOptions,
            _apply,
            summary="Apply the changes of a layer to your folder: all that you chose, or nothing.",
            details="Protected files are applied only where --include names them. Exit code 1: it was refused, "
            "and your folder is as it was.",
            arguments=(
                *CHOICE_OF_EFFECTS,
                argument("--digest", metavar="DIGEST", help="only if it is this that you have seen"),
                _JSON,
                *PLACES,
                _LAYER,
            ),
            examples=(
                ("quorum staged apply --leave-out docs", "all but the folder docs"),
                ("quorum staged apply --digest 5f0c2a9b77d1e340", "what quorum staged show has printed"),
            ),
        ),
        "discard": CliCommand(
            DiscardOptions,
            _discard,
            summary="Drop all changes of a layer for good.",
            arguments=(flag("--yes", help="do not ask"), _JSON, *PLACES, _LAYER),
            examples=(("quorum staged discard 3f2a", "the layer whose id begins so"),),
        ),
        "undo": CliCommand(
            OneLayerOptions,
            _undo,
            summary="Take back what was applied from a layer last.",
            details="Where one of these files was changed since, nothing is taken back.",
            arguments=(_JSON, *PLACES, _LAYER),
            examples=(("quorum staged undo", "of the only layer of this folder"),),
        ),
        "redo": CliCommand(
            OneLayerOptions,
            _redo,
            summary="Apply again what was taken back last.",
            details="Where one of these files was changed since, in your folder or in the layer, nothing is.",
            arguments=(_JSON, *PLACES, _LAYER),
            examples=(("quorum staged redo", "of the only layer of this folder"),),
        ),
    },
    example=("quorum staged", "the same as quorum staged list"),
    usual="list",
)
