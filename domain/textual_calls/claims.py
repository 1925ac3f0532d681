"""Recognises an answer that tells of work on this machine as done, as models do that make no calls."""

from __future__ import annotations

from quorum.domain.text.pattern import compile_once

_LONGEST = 20_000
_MOST_LINES = 200
_DONE = (
    r"(?:created|written|wrote|saved|deleted|removed|renamed|moved|copied|edited|modified|updated|replaced|changed"
    r"|fixed|applied|committed|pushed|installed|ran"
    r"|(?<!i )(?<!we )run|executed|started|listed|searched|tested|built|compiled"
    r"|downloaded|fetched|appended|added)"
)
_WELL = r"(?:\s+(?:now|just|already|successfully|also|both|all|it|been))*"
# what only a tool can have done that to
_THING = (
    r"(?:`[^`\n]+`|[\w~.-]*/[\w./-]+|\b[\w-]+\.(?:py|js|ts|tsx|txt|md|json|toml|yaml|yml|sh|rs|go|java|c|h|cpp|html|css"
    r"|sql|csv|log|cfg|ini|lock)\b|\b(?:files?|folders?|director(?:y|ies)|commands?|scripts?|tests?|test suite"
    r"|packages?|dependenc(?:y|ies)|commits?|branch(?:es)?|repository|server)\b)"
)
_CLAIM = (
    rf"(?i)^\W*(?:(?:ok(?:ay)?|sure|done|great|alright|certainly|of course|finished|perfect)\b[^\w\n]{{1,4}})?"
    rf"(?:(?:i|we)(?:['’]ve|\s+have)?{_WELL}\s+{_DONE}\b[^.?!\n]{{0,80}}?{_THING}"
    rf"|(?:the|all|your|both)?\s*[^.?!,;:\n]{{0,40}}?{_THING}[^.?!,;:\n]{{0,30}}?\s(?:was|were|has|have)\b{_WELL}\s+{_DONE}\b"
    r"|(?:all\s+)?(?:the\s+)?(?:\d+\s+)?tests?\s+(?:(?:have|has)\s+)?(?:now\s+)?pass(?:ed|es)?\b"
    r"|observation:\s*\S|(?:<(?:tool|function)_(?:response|results?|output)s?>))"
)
# words by which it may be meant otherwise: not done, not yet, not here, or said of what the person has given
_ELSE = (
    r"(?i)\b(?:not?|none|nothing|never|cannot|would|could|should|might|may|will|shall|if|when|once|after|before|unless|you|your"
    r"|below|above|following|example|suppose|imagine|assum\w+|last|yesterday|earlier|previous(?:ly)?|originally|ago"
    r"|version|release|since|in \d{4})\b|n['’]t\b|\?"
)


def claims_work(text: str) -> bool:
    """Whether a line of an answer begins with saying that files were changed, commands run or tests passed, and
    nothing in its sentence takes that back."""
    fences = 0
    for line in text[:_LONGEST].splitlines()[:_MOST_LINES]:
        if line.lstrip().startswith(("```", "~~~")):
            fences += 1
        elif not fences % 2 and (found := compile_once(_CLAIM).match(line)) is not None:
            sentence = line[: found.end()] + line[found.end() :].partition(". ")[0]
            if compile_once(_ELSE).search(sentence) is None:
                return True
    return False
