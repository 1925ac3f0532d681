"""A session as one HTML file that checks itself where it is opened: evidence, verifier and what draws it.

The page loads nothing. Its policy allows one script and one style, by their hashes; what is shown is made by
the script from the evidence once that is verified.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from pathlib import Path

from quorum.domain.sessions.ledger_chain import NO_LINK
from quorum.domain.sessions.stored_session import StoredSession

_PARTS = Path(__file__).parent / "page"
_SCRIPTS = ("verifier.js", "transcript.js", "page.js")
_DIGEST_PLACE = "@SHELL_DIGEST@"
_BEFORE_SCRIPT = (
    "This page could not check what is in it, so it shows nothing. Open the file in a current browser with "
    "scripts allowed. If that changes nothing, the file was damaged or changed: do not rely on it."
)


def render_shared_page(evidence: bytes, public_hex: str) -> bytes:
    """The page with a signed export, `evidence`, and the public key of whoever signed it."""
    style = _read_part("page.css")
    script = "\n".join(map(_read_part, _SCRIPTS)).replace(_DIGEST_PLACE, _hash(_describe_shell()))
    policy = (
        f"default-src 'none'; script-src 'sha256-{_hash(script)}'; style-src 'sha256-{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    page = _render(policy, style, public_hex, b64encode(evidence).decode("ascii"), script, ends=("", ""))
    return f"<!DOCTYPE html>\n{page}".encode()


def render_check_code(stored: StoredSession, public_hex: str) -> str:
    """What shows that the whole session is there and who signed it; it has to go another way than the page."""
    head = stored.chain[-1].link if stored.chain else NO_LINK
    return f"{public_hex}-{head.hex()}"


def _read_part(name: str) -> str:
    text = (_PARTS / name).read_text(encoding="utf-8")
    assert "</script" not in text.lower()
    assert "</style" not in text.lower()
    return text


def _hash(text: str) -> str:
    return b64encode(sha256(text.encode()).digest()).decode("ascii")


def _describe_shell() -> str:
    """What the script compares the page around it with: how it was parsed, and all of it but what varies."""
    shell = _render("", "", "", "", "", ends=("</head>", "</body></html>"))
    return f"CSS1Compat UTF-8 {shell}"


def _render(
    policy: str, style: str, public_hex: str, evidence: str, script: str, *, ends: tuple[str, str]
) -> str:
    """The page, written as browsers write the document that they read from it, with these `ends` of its
    head and body. The file has none: whatever a byte of them becomes, browsers read the same document."""
    of_head, of_body = ends
    return (
        '<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Shared session</title><style>{style}</style>{of_head}"
        f'<body><p id="unchecked">{_BEFORE_SCRIPT}</p>'
        f'<script type="application/octet-stream" id="evidence" data-key="{public_hex}">{evidence}</script>'
        f"<script>{script}</script>{of_body}"
    )
