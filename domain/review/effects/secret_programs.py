"""Programs that give out credentials, and by which of their words."""

from __future__ import annotations

import re

from quorum.domain.review.effects.side_effect import DataKind, Datum
from quorum.domain.review.hazards.invocation import Invocation
from quorum.domain.secrets.key_variables import is_secret_name

_GIVES_SECRETS = {
    "security": r"find-\w+-password|dump-\w+|export",
    "gcloud": r"print-(access|identity)-token|secrets versions access|print-refresh",
    "aws": r"export-credentials|get-session-token|get-secret-value|configure get|ecr get-login\S*|"
    r"assume-role\S*|get-parameter\S* .*--with-decryption|create-access-key|get-password-data",
    "az": r"get-access-token|keyvault secret (show|download)|keys? list|create-for-rbac",
    "kubectl": r"get\s+(\S+\s+)*secrets?\b.*(-o|--output)|config view.*--raw|create token",
    "oc": r"whoami -t|get secrets?\b.*-o",
    "vault": r"\b(read|kv get|print token|token)\b",
    "op": r"\b(read|item get|get item|inject)\b",
    "pass": r"^(show|-c)?\s*\S+",
    "bw": r"\b(get|list|export)\b",
    "lpass": r"\b(show|export)\b",
    "secret-tool": r"\b(lookup|search)\b",
    "kwallet-query": r"",
    "gpg": r"--export-secret-\S+",
    "heroku": r"\bconfig\b",
    "doppler": r"\bsecrets\b",
    "ansible-vault": r"\b(view|decrypt)\b",
    "sops": r"-d\b|\bdecrypt\b",
    "terraform": r"\bstate (pull|show)|output .*-(raw|json)",
    "git": r"credential(-\w+)? (fill|get)|config .*(token|password|extraheader)",
    "gh": r"auth (token|status .*-t)",
    "npm": r"token list|config get .*_auth",
    "docker": r"inspect .*Env",
    **dict.fromkeys(("rails", "rake"), r"\b(credentials|secrets|encrypted):(show|edit)\b"),
    "nmcli": r"-s\b|--show-secrets",
    "netsh": r"key=clear",
    "wg": r"show\b.*(private|preshared)|showconf",
    "cmdkey": r"/list",
    "pbpaste": r"",
    "wl-paste": r"",
    "xclip": r"-o\b|-out\b",
    "xsel": r"-o\b|--output|-b\b",
}
_PATTERNS = {program: re.compile(words) for program, words in _GIVES_SECRETS.items()}


def find_given_secret(run: Invocation) -> Datum | None:
    """The credentials that a program prints."""
    if run.program == "printenv":
        named = next(filter(is_secret_name, run.operands), None)
        return Datum(DataKind.SECRET, f"${named}") if named else None
    pattern = _PATTERNS.get(run.program)
    found: re.Match[str] | None = pattern.search(" ".join(run.arguments)) if pattern else None
    if found is None:
        return None
    return Datum(DataKind.SECRET, f"the credentials of {run.program} {found[0]}".strip())
