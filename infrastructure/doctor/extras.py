"""Which optional parts are installed that have nothing to do with a model."""

from __future__ import annotations

from infrastructure.doctor.finding import Finding, ok, warn
from infrastructure.extras import is_installed, render_install_command


def check_extras(*, fetches_pages: bool, has_servers: bool) -> list[Finding]:
    """Look for each part. `fetches_pages`: the settings give the model `web_fetch`; `has_servers`: they name
    MCP servers."""
    return [
        _part("acp", "acp", lack="no editor can be served with quorum acp", wanted=False),
        _part("audit", "cbor2", lack="no session can be exported with a signature", wanted=False),
        _part("fleet", "procrastinate", lack="quorum fleet runs no sessions", wanted=False),
        _part("keyring", "keyring", lack="keys come from the environment alone", wanted=False),
        _part("mcp", "mcp", lack="no MCP server is started", wanted=has_servers),
        _part("otel", "opentelemetry.sdk", lack="no telemetry is sent", wanted=False),
        _part("postgres", "psycopg", lack="sessions are kept on this machine alone", wanted=False),
        _part("s3", "obstore", lack="no bucket can keep long outputs", wanted=False),
        _part("serve", "textual_serve", lack="quorum serve opens no browser", wanted=False),
        _part("web", "html_to_markdown", lack="web_fetch shows no HTML pages", wanted=fetches_pages),
    ]


def _part(extra: str, module: str, *, lack: str, wanted: bool) -> Finding:
    if is_installed(module):
        return ok(extra, f"the extra {extra} is installed")
    text, remedy = f"the extra {extra} is not installed: {lack}", render_install_command(extra)
    return warn(extra, text, remedy) if wanted else ok(extra, f"{text}; to change that: {remedy}")
