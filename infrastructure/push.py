"""Messages that a decision waits: to a command of the person's, to a server that takes them as ntfy does, or to
browsers."""

from __future__ import annotations

import asyncio
import json
import os
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from urllib.parse import urlsplit

from quorum.application.review.pushing import Push, PushMessage
from quorum.domain.errors import ConfigError, PushFailed, ToolError
from quorum.domain.text.printable import make_printable
from quorum.infrastructure.config.session_tables import PushTable
from quorum.infrastructure.execution.commands.sealing import expand_declared_command, find_declared_program
from quorum.infrastructure.execution.program import open_program

_LIMIT_SECS = 10.0
_TITLE = "quorum"


def build_pushes(
    tables: Sequence[PushTable], environment: Mapping[str, str], workspace: Path
) -> tuple[Push, ...]:
    """Who is told, as the settings say. `environment` is that of the commands."""
    pushes: list[Push] = []
    for number, table in enumerate(tables, 1):
        if table.browsers:
            name, send = "browsers", partial(_push_to_browsers, table)
        elif table.url:
            name, send = urlsplit(table.url).hostname or table.url, partial(_post, table)
        else:
            name = Path(table.command[0]).name
            send = partial(_run, table, dict(environment), workspace)
        pushes.append(
            Push(
                name=f"{name} (push {number})",
                after_secs=table.after_secs,
                every_secs=table.every_secs,
                send=send,
            )
        )
    return tuple(pushes)


def _fill_link(table: PushTable, message: PushMessage) -> str:
    return table.link.replace("{digest}", message.digest)


async def _post(table: PushTable, message: PushMessage) -> None:
    """Source: the publishing page of ntfy 2.14."""
    import httpx2

    from quorum.infrastructure.http_client import HttpClient
    from quorum.infrastructure.tools.web.retrieval import build_failure

    headers = {"Title": _TITLE, **({"Click": _fill_link(table, message)} if table.link else {})}
    try:
        # The body of the answer is not read: it may be long, or never end.
        async with (
            HttpClient(timeout=_LIMIT_SECS, head_secs=_LIMIT_SECS) as client,
            client.stream("POST", table.url, content=message.text.encode(), headers=headers) as answer,
        ):
            pass
    except httpx2.HTTPError as error:
        raise PushFailed(str(build_failure(error, urlsplit(table.url).hostname or table.url))) from error
    except (httpx2.InvalidURL, ValueError) as error:
        raise PushFailed(
            f"{type(error).__name__}: {make_printable(str(error), newlines=False)[:200]}"
        ) from error
    if not answer.is_success:
        raise PushFailed(f"the server answered {answer.status_code}")


async def _push_to_browsers(table: PushTable, message: PushMessage) -> None:
    from quorum.infrastructure.extras import is_installed, render_install_command

    if not is_installed("cryptography"):
        raise PushFailed(f"the extra serve is not installed: {render_install_command('serve')}")
    from quorum.infrastructure.web_push.browsers import open_push_browsers
    from quorum.infrastructure.web_push.sending import push_to_browsers

    if (browsers := open_push_browsers(os.environ)) is None:
        raise PushFailed("there is no home folder, so no browser can be known")
    try:
        await push_to_browsers(browsers, message, _fill_link(table, message))
    except ConfigError as error:
        raise PushFailed(str(error)) from error


async def _run(table: PushTable, environment: Mapping[str, str], workspace: Path, message: PushMessage) -> None:
    said = {
        "digest": message.digest,
        "session_id": message.session_id,
        "tool": message.tool,
        "folder": message.folder,
        "waiting": message.waiting,
        "message": message.text,
        "link": _fill_link(table, message),
    }
    try:
        name, *words = expand_declared_command(table.command, "push", environment)
        argv, given = find_declared_program(name, words, environment, cwd=workspace, is_confined=False)
        with TemporaryFile() as whole:  # cut off at its start, a program would read nothing from a pipe
            whole.write(json.dumps(said).encode())
            whole.seek(0)
            async with (
                asyncio.timeout(_LIMIT_SECS),
                open_program(
                    argv, environment=given, cwd=workspace, stdin=whole.fileno(), stdout=DEVNULL, stderr=PIPE
                ) as process,
            ):
                _, printed = await process.communicate()
    except TimeoutError:
        raise PushFailed(f"it did not end within {_LIMIT_SECS:.0f} s") from None
    except (ConfigError, ToolError, OSError) as error:
        raise PushFailed(str(error)) from error
    if process.returncode:
        line = make_printable(printed.decode("utf-8", "replace"), newlines=False).strip()[:200]
        raise PushFailed(f"exit code {process.returncode}{f': {line}' if line else ''}")
