"""The folder that an approval may add to the workspace: named at the first press, chosen at the second."""

from __future__ import annotations

from quorum.domain.review.questions import ApproveFolder, ReviewRequest
from quorum.domain.text.printable import make_printable


class FolderChoice:
    """Remembers for which request the folder was named."""

    def __init__(self) -> None:
        self._named = ("", "")

    def press(self, request: ReviewRequest) -> ApproveFolder | None:
        """The answer, where the folder of this very request was named before; else it is named from now on."""
        if request.folder is None:
            return None
        if self._named == (request.packet.digest, request.folder):
            return ApproveFolder(request.packet.digest, request.folder)
        self._named = (request.packet.digest, request.folder)
        return None

    def explain(self, request: ReviewRequest) -> str:
        """What the next press does, in a sentence that names the whole folder."""
        folder = make_printable(request.folder or "", newlines=False)
        return f"the same key again approves, and adds to the workspace for this session: {folder}"
