"""The table `[tui]`: how the full-screen app looks, is edited in, notifies, and which keys it has."""

from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct, field

from quorum.infrastructure.config.about import About, ProjectRule

LayoutName: TypeAlias = Literal["auto", "default", "wide", "stacked", "minimal"]

_THEME = r"\A[!-~]{1,100}\Z"


class TuiTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The full-screen app."""

    theme: Annotated[
        str,
        Meta(pattern=_THEME),
        About(
            description="Name of a colour theme, as /theme lists them. quorum-ansi uses the terminal's own 16 "
            "colours, quorum-contrast is for low vision; auto is the dark or the light one, as the "
            "terminal answers, or by COLORFGBG.",
            project=ProjectRule.FREE,
            expected="the name of a theme",
        ),
    ] = "quorum"
    layout: Annotated[
        LayoutName,
        About(
            description="The layout of the screen: default has the side panel on the right, wide "
            "gives it more space, stacked puts it below, minimal shows only transcript,"
            " prompt and status bar. auto depends on the size of the terminal.",
            project=ProjectRule.FREE,
        ),
    ] = "auto"
    editing: Annotated[
        Literal["emacs", "vim"],
        About(
            description="How the prompt is edited: with the keys of Emacs and shells, or the modes of Vim.",
            project=ProjectRule.OWN,
        ),
    ] = "emacs"
    enter_while_running: Annotated[
        Literal["queue", "steer"],
        About(
            description="What Enter does with a prompt while a turn runs: queue it as the next prompt, or "
            "steer the running turn with it. Enter again, in the empty prompt, does the other with the last "
            "one.",
            project=ProjectRule.OWN,
        ),
    ] = "queue"
    mark_approve_for_edits: Annotated[
        bool,
        About(
            description="In the review of an edit inside the workspace that only the mode asks about, mark "
            "approve, so that Enter approves it. In all other reviews reject is marked.",
            project=ProjectRule.OWN,
        ),
    ] = False
    statusline: Annotated[
        tuple[str, ...],
        About(
            description="A program, with its arguments, that prints a line below the status bar. It gets the "
            "session as JSON on its standard input, and runs again when that changes, at most three times a "
            "second.",
            project=ProjectRule.OWN,
            expected='a program and its arguments, such as ["~/.claude/statusline.sh"]',
        ),
    ] = ()
    notifications: Annotated[
        bool,
        About(
            description="Notify when an answer is needed or a long turn has ended, unless the "
            "terminal reports that it has the focus.",
            project=ProjectRule.FREE,
        ),
    ] = True
    notify_by: Annotated[
        Literal["auto", "bell", "desktop"],
        About(
            description="How to notify: the terminal's bell, or a desktop notification. auto: a "
            "desktop notification if the terminal is known to show them and to report "
            "its focus, otherwise the bell.",
            project=ProjectRule.FREE,
        ),
    ] = "auto"
    screen_reader: Annotated[
        bool,
        About(
            description="Linear mode for screen readers: one column of plain lines, changes of "
            "state in words, nothing that counts or moves, the terminal's cursor at the"
            " focus.",
            project=ProjectRule.FREE,
        ),
    ] = False
    keys: Annotated[
        Mapping[str, str | tuple[str, ...]],
        About(
            description="Other keys for actions: the name of an action, and its key or a list of "
            'keys, such as redraw = "f5" or toggle_fold = ["ctrl+o", "f6"]. `quorum '
            "config keys` lists the names with their keys. Esc, Ctrl+C, Enter and the "
            "arrow keys keep their actions.",
            project=ProjectRule.OWN,
            expected='a key, such as "ctrl+g", or a list of keys',
            names_expected="the name of an action (quorum config keys lists them)",
            names_example="redraw",
        ),
    ] = field(default_factory=dict)
