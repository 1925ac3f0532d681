"""The readable text of an HTML page, converted in a process of its own."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from domain.errors import ToolError
from infrastructure.extras import install_command, is_installed

_CPU_SECS = 10
_MEMORY_BYTES = 1024**3
_CONVERTER = "html_to_markdown"
_PROGRAM = Path(__file__).with_name("html_conversion.py")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageText:
    """A page as Markdown. `text` may be cut: `characters` is its full length. `complete`: nothing was left
    out on the way, such as what is nested too deeply."""

    title: str
    text: str
    characters: int
    complete: bool


async def page_text(html: str, *, base_url: str, max_characters: int) -> PageText:
    """The text of a page without its menus, scripts and what it hides; links are made absolute.

    Raises ToolError where the page cannot be converted within ten seconds of computing and 1 GiB. Cancelled,
    it ends the process first.
    """
    order = {
        "base_url": base_url,
        "max_characters": max_characters,
        "cpu_secs": _CPU_SECS,
        "memory_bytes": _MEMORY_BYTES,
        "packages": _folder_of_converter(),
    }
    page = json.dumps(order).encode() + b"\n" + html.encode("utf-8", "replace")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-I", str(_PROGRAM), stdin=PIPE, stdout=PIPE, stderr=PIPE, env=_environment()
    )
    try:
        output, errors = await process.communicate(page)
    finally:
        if process.returncode is None:
            process.kill()
            await asyncio.shield(process.wait())
    if process.returncode != 0:
        raise _unreadable(base_url, process.returncode, errors)
    head, _, text = output.partition(b"\n")
    told = json.loads(head)
    return PageText(
        title=told["title"], text=text.decode(), characters=told["characters"], complete=told["complete"]
    )


def missing_converter() -> str:
    """What to say in place of a page, and what to install; empty where HTML can be converted."""
    if is_installed(_CONVERTER):
        return ""
    return (
        "[the page is HTML, and what turns HTML into text is not installed; the person can install it with: "
        f"{install_command('web')}]"
    )


def _folder_of_converter() -> str:
    """Where the converter is installed. An isolated interpreter does not look in the user's site-packages."""
    spec = find_spec(_CONVERTER)
    return str(Path(spec.origin).parents[1]) if spec is not None and spec.origin else ""


def _unreadable(url: str, code: int | None, errors: bytes) -> ToolError:
    reason = "it takes too much memory or time"  # the limits end the process by a signal
    if code is not None and code > 0:
        reason = (
            errors.decode(errors="replace").strip().rpartition("\n")[2][:300]
            or f"the converter ended with {code}"
        )
    advice = "another address of the same content, such as a plain-text one, may do"
    return ToolError(f"the page at {url} could not be turned into text: {reason}; {advice}")


def _environment() -> dict[str, str]:
    """What the interpreter may need to start; no key is within the reach of what reads a stranger's page."""
    return {name: value for name, value in os.environ.items() if name.startswith(("LD_", "DYLD_"))}
