"""Programs that fetch a package and run it in one step."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from quorum.domain.review.hazards.invocation import Invocation
from quorum.domain.review.hazards.started_programs import skip_values
from quorum.domain.review.objection import Objection

_RUNNERS = frozenset({"npx", "pnpx", "bunx", "uvx"})
_RUN_COMMANDS = {
    "npm": frozenset({"exec", "x"}),
    "pnpm": frozenset({"dlx"}),
    "yarn": frozenset({"dlx"}),
    "bun": frozenset({"x"}),
    "pipx": frozenset({"run"}),
    "uv": frozenset({"tool"}),
}
_PACKAGE_OPTIONS = ("-p", "--package", "--from", "--with", "--spec")
_OTHER_VALUES = ("-w", "--workspace", "--prefix", "-C", "--dir", "--cwd", "--filter", "--python")
_ADDRESS = re.compile(
    r"git\+.+|(.+@)?(github|gitlab|bitbucket|gist):.+|(.+@)?(https?|git|ssh)://.+\.(tgz|tar\.gz|zip|whl|git)([#?].*)?"
)
_HOSTED = re.compile(r"\w[\w.-]*/[\w.-]+(#.*)?")  # owner/name; a scope of the registry begins with @


def list_foreign_packages(run: Invocation) -> Iterator[Objection]:
    """Packages that are run from an address or a repository, not by their name in the registry."""
    words: Sequence[str] = run.arguments
    if run.program not in _RUNNERS:
        command, *words = skip_values(run.program, words) or ("",)
        if command not in _RUN_COMMANDS.get(run.program, frozenset()):
            return
    packages = [*run.find_values(*_PACKAGE_OPTIONS)]
    values = {*packages, *run.find_values(*_OTHER_VALUES)}
    first = next((word for word in words if not word.startswith("-") and word not in values), "")
    is_hosted = any(map(_HOSTED.fullmatch, (first, *packages))) and run.program not in ("uvx", "uv", "pipx")
    if is_hosted or any(map(_ADDRESS.fullmatch, (*words, *packages))):
        yield Objection("network", f"{run.program}: it runs a package from elsewhere")
