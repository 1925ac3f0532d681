"""Which optional parts are installed that have nothing to do with a model."""

from __future__ import annotations

from quorum.infrastructure.doctor.finding import Finding, report_ok, warn
from quorum.infrastructure.extras import is_installed, render_install_command


def check_extras(*, fetches_pages: bool, has_servers: bool) -> list[Finding]:
    """Look for each part. `fetches_pages`: the settings give the model `web_fetch`; `has_servers`: they name
    MCP servers."""
    return [
        _check_extra("acp", "acp", lack="no editor can be served with quorum acp", wanted=False),
        _check_extra("audit", "cbor2", lack="no session can be exported with a signature", wanted=False),
        _check_extra("fleet", "procrastinate", lack="quorum fleet runs no sessions", wanted=False),
        _check_extra("keyring", "keyring", lack="keys come from the environment alone", wanted=False),
        _check_extra("mcp", "mcp", lack="no MCP server is started", wanted=has_servers),
        _check_extra("otel", "opentelemetry.sdk", lack="no telemetry is sent", wanted=False),
        _check_extra("postgres", "psycopg", lack="sessions are kept on this machine alone", wanted=False),
        _check_extra("s3", "obstore", lack="no bucket can keep long outputs", wanted=False),
        _check_extra("serve", "textual_serve", lack="quorum serve opens no browser", wanted=False),
        _check_extra("web", "html_to_markdown", lack="web_fetch shows no HTML pages", wanted=fetches_pages),
    ]


def _check_extra(extra: str, module: str, *, lack: str, wanted: bool) -> Finding:
    if is_installed(module):
        return report_ok(extra, f"the extra {extra} is installed")
    text, remedy = f"the extra {extra} is not installed: {lack}", render_install_command(extra)
    return warn(extra, text, remedy) if wanted else report_ok(extra, f"{text}; to change that: {remedy}")
