"""Names that code in JavaScript gives the functions that it takes out of modules."""

from __future__ import annotations

import re

_NAMES_TAKEN = re.compile(
    r"\{([^{}]{1,400})\}\s*=\s*(?:await\s+)?(?:require|import)\s*\(|\bimport\b[^{}\n]{0,80}\{([^{}]{1,400})\}\s*from\b"
)
_OTHER_NAME = re.compile(r"(\w+)\s*(?::|\bas\b)\s*([A-Za-z_$][\w$]*)")
_TAKEN_OUT = re.compile(
    r"\b(?:const|let|var)\s+([A-Za-z_]\w*)\s*=\s*(?:require\s*\([^()\n]{1,60}\)|[A-Za-z_]\w*)\.(\w+)\s*(?=[;,\n]|\Z)"
)


def name_functions(text: str) -> str:
    """The code with functions of modules called by their own names where it gives them others."""
    found = [pair for names in _NAMES_TAKEN.findall(text) for pair in _OTHER_NAME.findall("".join(names))]
    for name, other in (*found, *((name, other) for other, name in _TAKEN_OUT.findall(text))):
        text = re.sub(rf"(?<![\w$.]){re.escape(other)}(?=\s*\()", name, text)
    return text
