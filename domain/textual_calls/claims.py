"""Recognises an answer that tells of work on this machine as done, as models do that make no calls.

Whoever only talks is never to be held up, so it counts only after a prompt that plainly asks for such work.
"""

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
_ENDINGS = r"(?:py|js|ts|tsx|txt|md|json|toml|yaml|yml|sh|rs|go|java|c|h|cpp|html|css|sql|csv|log|cfg|ini|lock)"
# what is made by saying it
_WORDS = (
    r"\b(?:plans?|outlines?|summar(?:y|ies)|overviews?|lists?|descriptions?|explanations?|examples?|e-?mails?"
    r"|mails?|messages?|letters?|repl(?:y|ies)|answers?|sentences?|texts?|paragraphs?|poems?|haikus?|stor(?:y|ies)"
    r"|jokes?|songs?|essays?|articles?|entr(?:y|ies)|notes?|posts?|questions?|names?|titles?|drafts?|proposals?"
    r"|suggestions?|structures?|formats?|grammar|wording|typos?|spelling)\b"
)
# what only a tool can have done that to
_THING = (
    rf"(?:`[^`\n]+`|[\w~.-]*/[\w./-]+|\b[\w-]+\.{_ENDINGS}\b"
    r"|\b(?:files?|folders?|director(?:y|ies)|commands?|scripts?|tests?|test suite"
    r"|packages?|dependenc(?:y|ies)|commits?|branch(?:es)?|repository|server)\b)"
)
_CLAIM = (
    rf"(?i)^\W*(?:(?:ok(?:ay)?|sure|done|great|alright|certainly|of course|finished|perfect)\b[^\w\n]{{1,4}})?"
    rf"(?:(?:i|we)(?:['’]ve|\s+have)?{_WELL}\s+{_DONE}\b(?:(?!{_WORDS})[^.?!\n]){{0,80}}?{_THING}(?!\s+{_WORDS})"
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
# a sentence that begins by telling to change files, or to run what is there
_MAKE = (
    r"(?:create|make|write|save|delete|remove|rename|move|copy|edit|modify|update|replace|change|fix|append|add"
    r"|commit|push|install|download)"
)
_FILE = rf"(?P<file>(?<![\w/.~-])[\w/.~-]*\w\.{_ENDINGS}\b)"
# not what handles some, as a function does that is to be shown
_MADE = (
    r"(?:(?!\b(?:that|which|who|to|for|about|of|with)\b)[^.?!:;,\n\"“”„«»'‘’]){0,40}?"
    r"\b(?:files?|folders?|director(?:y|ies)|packages?|dependenc(?:y|ies)|commits?|branch(?:es)?)\b"
)
_RUN = r"(?:run|execute|start|fix)(?!\s+(?:me|us|it|by|with|through|from|over)\b)"
_RAN = r"\b(?:commands?|scripts?|tests?|test suite|server)\b"
_GAP = rf"(?:(?!{_WORDS})[^.?!:;,\n\"“”„«»'‘’]){{0,60}}?"
_ORDER = (
    r"(?i)(?:\A|(?<=[.!?\n]))[ \t>*-]*(?:(?:please|now|then|ok(?:ay)?,?|first,?|go ahead and"
    r"|(?:can|could|will|would) you(?: please)?)\s+){0,3}"
    rf"(?:{_MAKE}\b(?:{_GAP}{_FILE}|(?!\s[^.?!\n]{{0,40}}{_WORDS}){_MADE})|{_RUN}\b{_GAP}{_RAN})(?!\s+(?:\w+\s+)?{_WORDS})(?P<rest>[^.?!\n]*\??)"
)
_ONLY_WORDS = (
    r"(?i)\b(?:pretend|imagine|suppose|hypothetical\w*|role[- ]?play|act as|explain|describe|translate"
    r"|proofread|rephrase|rewrite|summari[sz]e|stor(?:y|ies)|poems?|haikus?|novels?|e-?mails?|in words|not"
    r"|in your (?:answer|reply)|how (?:do|can|would|to|should)|what would)\b|n['’]t\b"
)


def asks_for_work(prompt: str) -> bool:
    """Whether a prompt plainly tells to change files or to run something, and is no question about that."""
    if compile_once(_ONLY_WORDS).search(prompt):
        return False
    return any(
        found["file"] or not found["rest"].endswith("?") for found in compile_once(_ORDER).finditer(prompt)
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
