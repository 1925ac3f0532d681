"""What is installed: the optional parts and how to get them, and which version of the program, from where."""

from __future__ import annotations

import importlib.util
import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

_NAME = "quorum-agent"
_UNKNOWN = "unknown"
_VERSION_CONTROL = ("git+", "hg+", "svn+", "bzr+")
SINGLE_FILE_MARK = "quorum-single-file"
"""Names a file that is in the environment which a single-file build unpacks: the version, and in further lines
the extras that it was built with beside the usual ones."""


def is_installed(module: str) -> bool:
    """Whether a module could be imported; it is not."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # not even the package around it
        return False


class Installer(Enum):
    """What manages the environment that the program is in."""

    PIP = "pip"
    UV = "uv"
    PIPX = "pipx"
    UV_TOOL = "uv tool"
    SINGLE_FILE = "single file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """How the program is installed.

    `prefix` is the folder of its environment. `source` is the URL that it was installed from, empty where its
    name was looked up; `folder` that of its sources, where it was installed or runs from one. What is not
    installed runs from its sources without any metadata.
    """

    installer: Installer
    prefix: Path
    python: str
    source: str = ""
    folder: str = ""
    is_editable: bool = False
    is_distribution: bool = True


def find_installation() -> Installation:
    """That of this process. Looks at files."""
    prefix = Path(sys.prefix)
    source, folder, is_editable = _find_source()
    is_distribution = find_own_version() != _UNKNOWN
    return Installation(
        installer=_find_installer(prefix),
        prefix=prefix,
        python=sys.executable,
        source=source,
        folder=folder if is_distribution else str(Path(__file__).resolve().parents[1]),
        is_editable=is_editable,
        is_distribution=is_distribution,
    )


def _find_installer(prefix: Path) -> Installer:
    for name, installer in (
        (SINGLE_FILE_MARK, Installer.SINGLE_FILE),
        ("pipx_metadata.json", Installer.PIPX),
        ("uv-receipt.toml", Installer.UV_TOOL),
    ):
        if (prefix / name).is_file():
            return installer
    return Installer.PIP if is_installed("pip") else Installer.UV


def render_install_command(extra: str, installation: Installation | None = None) -> str:
    """What adds the extra of this name to the program, in the way in which it was installed, for a shell.

    It names what the extra consists of, never the program by its name alone, which an index might have of
    somebody else.
    """
    found = installation or find_installation()
    wanted = _list_requirements(extra) if found.is_distribution else []
    words = [shlex.quote(each) for each in wanted] or ["-e", shlex.quote(f"{found.folder}[{extra}]")]
    match found.installer:
        case Installer.SINGLE_FILE:
            return _render_single_file({*_list_single_file_extras(found), extra})
        case Installer.PIPX:
            return " ".join(("pipx inject", shlex.quote(found.prefix.name), *words))
        case Installer.UV_TOOL if found.source:
            return _render_uv_tool(found, extra)
        case Installer.UV_TOOL | Installer.UV:
            return " ".join(("uv pip install --python", shlex.quote(found.python), *words))
        case Installer.PIP:
            return " ".join((shlex.quote(found.python), "-m pip install", *words))


def _list_requirements(extra: str) -> list[str]:
    from importlib.metadata import requires  # slow to import, and few ask

    parts = (line.partition(";") for line in requires(_NAME) or ())
    return [need for need, _, marker in parts if marker.replace('"', "'").strip() == f"extra == '{extra}'"]


def _render_uv_tool(found: Installation, extra: str) -> str:
    """`uv tool install` replaces what the tool was installed with, so that all of it is said again."""
    import tomllib

    tool = tomllib.loads((found.prefix / "uv-receipt.toml").read_text(encoding="utf-8"))["tool"]
    extras, others = {extra}, list[str]()
    for each in tool["requirements"]:
        if each["name"] == _NAME:
            extras.update(each.get("extras", ()))
        else:
            others += ["--with", shlex.quote(f"{each['name']}{each.get('specifier', '')}")]
    editable = ["--editable"] if found.is_editable else []
    wanted = f"{_NAME}[{','.join(sorted(extras))}] @ {found.source}"
    return " ".join(("uv tool install", *editable, shlex.quote(wanted), *others))


def _list_single_file_extras(found: Installation) -> set[str]:
    mark = found.prefix / SINGLE_FILE_MARK
    return set(mark.read_text(encoding="utf-8").splitlines()[1:]) if mark.is_file() else set()


def _render_single_file(extras: set[str]) -> str:
    """A file is built with what is named, so that all of it is said again."""
    named = f" EXTRAS={shlex.quote(' '.join(sorted(extras)))}" if extras else ""
    return f"make single-file{named} (in a clone; dist/quorum then takes the place of this file)"


def render_update_command(installation: Installation | None = None) -> str:
    """What brings the program to its newest version, in the way in which it was installed, for a shell."""
    found = installation or find_installation()
    if found.installer is Installer.SINGLE_FILE:
        return f"git pull && {_render_single_file(_list_single_file_extras(found))}"
    if found.folder:
        place = shlex.quote(found.folder)
        pull = f"git -C {place} pull"
        if upgrade := _render_upgrade(found):
            return f"{pull} && {upgrade}"
        if not found.is_distribution or found.prefix.is_relative_to(found.folder):
            return f"{pull} && make -C {place} setup"
        return f"{pull} && {_render_reinstall(found, ['-e'] if found.is_editable else [], place)}"
    if found.source.startswith(_VERSION_CONTROL):
        return _render_upgrade(found) or _render_reinstall(found, [], shlex.quote(found.source))
    if address := find_own_address():
        return _render_reinstall(found, [], shlex.quote(f"git+{address}"))
    return f"{_render_reinstall(found, [], 'WHEEL')} (WHEEL: the path of the newer one)"


def _render_upgrade(found: Installation) -> str:
    """What installs the same anew from where it came, with its extras; empty where nothing kept that."""
    match found.installer:
        case Installer.PIPX:
            return f"pipx upgrade {shlex.quote(found.prefix.name)}"
        case Installer.UV_TOOL:
            return f"uv tool upgrade {_NAME}"
    return ""


def _render_reinstall(found: Installation, options: Sequence[str], what: str) -> str:
    words = (*options, what)
    match found.installer:
        case Installer.PIPX:
            return " ".join(("pipx install --force", *words))
        case Installer.UV_TOOL:
            return " ".join(("uv tool install --reinstall", *words))
        case Installer.UV:
            return " ".join(("uv pip install --upgrade --python", shlex.quote(found.python), *words))
        case Installer.PIP | Installer.SINGLE_FILE:
            return " ".join((shlex.quote(found.python), "-m pip install --upgrade", *words))


def _find_source() -> tuple[str, str, bool]:
    """The URL it was installed from, the folder where that is one, and whether it runs from there."""
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import unquote

    try:
        text = distribution(_NAME).read_text("direct_url.json")
        given: object = json.loads(text) if text else None
    except (PackageNotFoundError, ValueError):
        return "", "", False
    if not isinstance(given, dict) or not isinstance(url := given.get("url"), str):
        return "", "", False
    match given:
        case {"vcs_info": {"vcs": str(kind)}}:
            return f"{kind}+{url}", "", False
        case {"dir_info": dict(info)} if url.startswith("file://"):
            return url, unquote(url.removeprefix("file://")), info.get("editable") is True
    return url, "", False


def find_own_version() -> str:
    """The version that is installed; "unknown" where the program runs from its sources."""
    from importlib.metadata import PackageNotFoundError, version  # slow to import, and few ask

    try:
        return version(_NAME)
    except PackageNotFoundError:
        return _UNKNOWN


def find_own_address() -> str:
    """Where the sources of the installed version are; empty where its release does not say."""
    from importlib.metadata import PackageNotFoundError, metadata  # slow to import, and few ask

    try:
        addresses = metadata(_NAME).get_all("Project-URL") or []
    except PackageNotFoundError:
        return ""
    return next((each.partition(", ")[2] for each in addresses if each.startswith("Source, ")), "")
