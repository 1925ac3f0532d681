"""Ports to the files a session works with: kept, given back, found, shown, searched for secrets, checked after
an edit, compared with what a repository holds, and kept in a layer until they are reviewed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

from quorum.application.ports.tools import AnswerTools
from quorum.domain.calls.access import Access
from quorum.domain.calls.diagnostics import LanguageServerStatus
from quorum.domain.calls.effects import Effects, FileState, KeptFiles
from quorum.domain.calls.execution import Outcome
from quorum.domain.code_review.change import Change, ChangeBase, CodeReviewRequest
from quorum.domain.conversation.attachment import AttachedFile, Attachment
from quorum.domain.events.event import DiagnosticsReported
from quorum.domain.sessions.restoration import RestoreStep
from quorum.domain.staging.layer_effects import AppliedEffects, EffectChoice, LayerEffects
from quorum.domain.text.json_value import JsonObject
from quorum.domain.text.mention import LineRange, Reference


class FileKeeper(Protocol):
    """Keeps what files hold before they are changed. Contents that must not be stored are not: their states say
    why."""

    async def keep(
        self, paths: Sequence[str] | None = None, report: Callable[[int, int], None] = ...
    ) -> KeptFiles:
        """The files as they are now, with their contents stored: at these paths and below, or in the whole
        workspace.

        `report` gets how many of how many files were read so far, where that takes a while. What cannot be seen
        is left out. Raises LedgerError where they cannot be stored.
        """
        ...

    def keep_ahead(self) -> AbstractContextManager[None]:
        """Keep the whole workspace in the background meanwhile, so that the next call has less to wait for."""
        ...

    async def find_changes(self, kept: KeptFiles, declared: frozenset[str]) -> Effects:
        """What differs now from then, with the states before and after. Takes a few seconds at most, and never
        raises for what it cannot store."""
        ...

    async def load(self, manifest: str) -> KeptFiles:
        """The files that this stored list names. Raises LedgerError where there is none."""
        ...


class FileRestorer(Protocol):
    """Gives single files back, inside the workspace only and through no link."""

    async def restore(self, step: RestoreStep, content: bytes | None) -> FileState | None:
        """Make the file what the step wants, holding this content; the state it has then.

        Folders that it needs are made. Raises RestoreError where that cannot be, or where the file is no longer
        as the step saw it: nothing was changed then.
        """
        ...

    async def sweep(self, deleted: Sequence[str]) -> None:
        """Remove the folders that held these deleted files and hold nothing now."""
        ...

    async def diff(self, step: RestoreStep, now: bytes | None, wanted: bytes | None) -> str:
        """What the step would change, as a unified diff or in words, of bounded length. The contents are those
        of regular files, where they are stored."""
        ...


class FileFinder(Protocol):
    """Finds files of the workspace by a part of their path. Lives on the loop that asks it first."""

    async def find(self, query: str, limit: int) -> tuple[FoundFile, ...]:
        """The files and folders that fit what is typed, best first, at most so many. Never raises for what it
        cannot see."""
        ...

    def note_used(self, path: str) -> None:
        """The person named this file or folder: it is likely that they do so again."""
        ...

    async def aclose(self) -> None:
        """Look at nothing any more."""
        ...


class AttachmentSource(Protocol):
    """Reads the images and PDFs that the person wants a model to see. Raises AttachmentError where there is
    none."""

    async def read(self, path: str) -> tuple[Attachment, bytes]:
        """The image or PDF in this file, of any place that is not sensitive."""
        ...

    async def read_clipboard(self) -> tuple[Attachment, bytes]: ...


class AttachmentViewer(Protocol):
    """Shows the model an image or PDF that a tool has read."""

    async def show(self, attachment: Attachment, content: bytes, *, call_id: str) -> Attachment:
        """Show it with the result of this call, which has to hold the label of what is returned: its name is
        its own in the session. Raises AttachmentError where it cannot be kept, or the context window has no
        room for it."""
        ...


class MentionTarget(Struct, frozen=True, kw_only=True):
    """A file or folder that a prompt mentions: its `path` as written, its printable `name`, the tool that would
    show it to the model, what that reads, and the lines meant."""

    path: str
    name: str
    tool: Literal["read_file", "list_directory"]
    access: Access
    lines: LineRange | None = None


class MentionSource(Protocol):
    """Reads what a prompt mentions. Whether that may be shown is decided in between."""

    async def find(self, mention: str) -> MentionTarget | AttachedFile | None:
        """What is mentioned; a file that cannot be attached says why, and None stands for what is none."""
        ...

    async def read(self, target: MentionTarget, most_bytes: int) -> AttachedFile:
        """As much of it as fits into so many bytes, or why there is nothing. Raises ToolError."""
        ...


class FolderCheck(Protocol):
    """Finds out which folders may be added to the workspace."""

    def resolve(self, path: str) -> str:
        """The canonical path of a folder that the person names. Blocks.

        Raises ConfigError where it is none that may be added.
        """
        ...


class SecretFinder(Protocol):
    """Finds out what must be hidden wherever something is kept or shown."""

    def learn_if_sensitive(self, path: str) -> bool:
        """Take note of what a sensitive file holds now; whether that was news. Blocks; never raises."""
        ...

    def learn_from_call(self, arguments: JsonObject) -> bool:
        """Take note of what a call would put into a sensitive file; whether that was news. Never raises."""
        ...


class FoundFile(Struct, frozen=True):
    """A path from the working directory; that of a folder ends with a slash. Surrogates stand for bytes.

    `hits` are the places of the letters that the query hit.
    """

    path: str
    hits: tuple[int, ...] = ()

    @property
    def is_folder(self) -> bool:
        """Whether it holds others."""
        return self.path.endswith("/")


OnLook: TypeAlias = Callable[[str, JsonObject, Outcome, int], None]
"""Called for each call that has ended: tool, arguments, how it ended, and how many characters it showed."""
OpenTools: TypeAlias = Callable[[OnLook], AnswerTools]
"""Makes tools that only look at the repository, for one conversation."""


class ChangeSource(Protocol):
    """Reads changes. Nothing of the repository is executed for it."""

    async def read(self, request: CodeReviewRequest) -> Change:
        """The change that is asked for. Raises NothingToReview where there is none, and ToolError where it
        cannot be read."""
        ...

    def open_repository(self, change: Change) -> AbstractAsyncContextManager[OpenTools | None]:
        """The repository as it is with the change; None where that is not known. It is gone afterwards."""
        ...

    async def keep_approval(self, change: Change, focus: str) -> None:
        """Remember that the change is approved. The same question about its branch is then about what came
        later."""
        ...


class PlanChanges(Protocol):
    """Reads what comes of a plan. Nothing of the repository is executed for it."""

    async def read_base(self) -> ChangeBase:
        """The repository as it is now. Raises ToolError where there is none, or it cannot be read."""
        ...

    async def read_since(self, base: ChangeBase) -> Change:
        """What differs from it now, committed or not. Raises NothingToReview where nothing does, and ToolError
        where it cannot be read."""
        ...


class ReviewedFiles(Protocol):
    """Reads the files that findings name, as they are now. Both methods raise ToolError for a file that is gone
    or lies outside of the repository, and where it cannot be read."""

    async def locate(self, file: str) -> str:
        """The absolute path of a file, which a finding names from the root of the repository."""
        ...

    async def read(self, file: str) -> str:
        """What the file holds; what is not UTF-8 is replaced."""
        ...


class ReferenceSource(Protocol):
    """Reads the issues and pull requests that a prompt names."""

    async def read(self, reference: Reference, most_characters: int) -> AttachedFile | None:
        """As much of it as fits into so many characters, or why there is nothing.

        None where the working directory has no repository that a bare number could belong to.
        """
        ...


class DiagnosticsCommand(Protocol):
    """A program that the person declared, which prints what is wrong with files."""

    @property
    def name(self) -> str:
        """Its name, unique in the settings."""
        ...

    async def select_files(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Those of the absolute paths that are files now and match its patterns, sorted."""
        ...

    def label(self, path: str) -> str:
        """How the program is given a path: relative to the workspace where it is below it."""
        ...

    async def run(self, files: Sequence[str]) -> tuple[str, ...]:
        """The lines that it prints about these files; none where it exits with 0.

        Raises DiagnosticsFailed where that is not known. Cancelled, it is ended with all that it started.
        """
        ...


class EditDiagnostics(Protocol):
    """Language servers, which find out by themselves what is wrong with files after each edit."""

    async def before_edits(self, paths: Sequence[str]) -> None:
        """Calls that may edit these absolute paths are about to run. They do not wait for what is found."""
        ...

    def note_edits(self, paths: Sequence[str]) -> None:
        """Calls have edited these absolute paths."""
        ...

    async def collect(self, *, is_last: bool) -> tuple[DiagnosticsReported, ...]:
        """What was found since the last time, by each server that found anything or failed. Edits are waited
        for once, within the limits of the settings; what takes longer comes the next time. `is_last`: there may
        be no next time, so that they are waited for once more."""
        ...


class LanguageServerControl(Protocol):
    """The language servers of a session, as people see them."""

    def list_statuses(self) -> tuple[LanguageServerStatus, ...]:
        """As they are now, in the order of the settings."""
        ...

    async def restart(self, name: str) -> LanguageServerStatus | None:
        """End a server and start it anew, also one that failed too often; what became of it, None where there
        is none of that name."""
        ...


class NoLanguageServers:
    """Implements the port where the settings name none."""

    def list_statuses(self) -> tuple[LanguageServerStatus, ...]:
        return ()

    async def restart(self, name: str) -> LanguageServerStatus | None:
        return None


class EditWatcher(Protocol):
    """Learns which files calls are about to edit, and which they edited."""

    async def before_edits(self, paths: Sequence[str]) -> None:
        """Calls that may edit these absolute paths are about to run. They wait for it."""
        ...

    def note_edits(self, paths: Sequence[str]) -> None:
        """Calls that may have edited these absolute paths have ended."""
        ...

    async def report_edits(self) -> str:
        """What the model is to read of the edits noted so far, and of earlier ones of which nothing was known
        in time; empty where that is nothing. Cancelled, nothing is lost."""
        ...


class NoEditWatcher:
    """Nobody wants to know of edits."""

    async def before_edits(self, paths: Sequence[str]) -> None: ...

    def note_edits(self, paths: Sequence[str]) -> None: ...

    async def report_edits(self) -> str:
        return ""


class Layer(Protocol):
    """The layer over the workspace of this process. While it is read or applied, nothing of the turn runs.

    All of its methods raise StagingError, which says what to do, where the layer is not as it has to be.
    """

    @property
    def id(self) -> str:
        """Its name, of letters and digits."""
        ...

    async def read_effects(self) -> LayerEffects:
        """What stands in the layer that does not stand in the workspace."""
        ...

    async def note_files(self, upper: str = "") -> None:
        """Keep what the files that were changed here hold in the workspace: so it is known if the person
        changes them there, too, and both can be merged. Costs by the changes. `upper`: those of a layer of a
        subagent's own, which the kernel keeps there."""
        ...

    async def read_content(self, path: str, *, before: bool) -> bytes | None:
        """What a file of the effects holds in the workspace (`before`), or in the layer.

        None where no file is, or where it is larger than what is shown of a file.
        """
        ...

    async def apply(self, choice: EffectChoice, digest: str) -> AppliedEffects:
        """Carry the chosen effects over into the workspace: all, or none.

        `digest` is that of the effects that were approved: where others stand now, all is refused. What was
        left out stays in the layer.
        """
        ...

    async def undo_apply(self) -> AppliedEffects:
        """Take back what was applied last, where nothing was changed there since."""
        ...

    async def redo_apply(self) -> AppliedEffects:
        """Apply again what was taken back last, where nothing was changed there since, in the layer either."""
        ...

    async def discard(self) -> None:
        """Drop all effects: the layer shows the workspace as it is."""
        ...

    def take_remarks(self) -> tuple[str, ...]:
        """What became of an earlier change that had failed halfway, and was finished or taken back since; each
        sentence once, whether what was asked for then could be done or not."""
        ...
