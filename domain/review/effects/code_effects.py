"""Code in Perl, Ruby, JavaScript, PHP, awk and the like as effects, by the calls and texts in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from quorum.domain.review.effects.places import find_host, find_secret, is_local, starts_by_itself
from quorum.domain.review.effects.secret_owners import drop_usual_keys
from quorum.domain.review.effects.side_effect import (
    NO_DATA,
    Data,
    DataKind,
    Datum,
    EffectKind,
    SideEffect,
    find_kind,
)
from quorum.domain.review.effects.surroundings import CommandReduction
from quorum.domain.review.hazards.inline_code import NestedShell, list_effects_of_code
from quorum.domain.review.hazards.library_calls import tells_calls
from quorum.domain.review.hazards.places import governs_agents
from quorum.domain.secrets.patterns import is_secret_name

_TEXT = re.compile(r"\"((?:\\.|[^\"\\])*)\"|'((?:\\.|[^'\\])*)'|`((?:\\.|[^`\\])*)`", re.DOTALL)
_BARE = re.compile(r"(?<![\w'\"])((?:~|\$HOME)?/[\w./*~-]+)")
_ADDRESS = re.compile(r"(?:https?|wss?|ftp)://[^\s\"'`<>)]+")
_NETWORK = re.compile(
    r"(?i)\bfetch\s*\(|axios|\bhttr2?::|\bRCurl|https?\.(get|request|post)|require\(.(https?|net|dgram|dns|tls|request|node-fetch"
    r"|ws|nodemailer).\)|Net::(HTTP|FTP|SMTP)|LWP|HTTP::Tiny|IO::Socket|\bTCPSocket|UDPSocket"
    r"|net\.(connect|createConnection|Socket|Dial)|curl_(init|exec|setopt)|URI\.open|open-uri|HTTParty|Faraday"
    r"|(open|copy|getstore)\s*\(?\s*.https?:|XMLHttpRequest|sendBeacon|WebClient|Invoke-(WebRequest|RestMethod)|\b(iwr|irm)\b"
    r"|Net\.Sockets|fsockopen|stream_socket|file_get_contents\s*\(\s*.(https?|ftp):|/inet/(tcp|udp)"
    r"|socket\.(http|tcp)|WebSocket|smtp|mail\s*\(|dns\.(lookup|resolve)|Deno\.connect|use\s+Socket|socket\s*\("
    r"|require\W+socket|url-(copy-file|retrieve)|java\.net\.|using\s+Sockets|\bsocket\s+\S+\s+\d|syscall\.Socket"
)
_READS = re.compile(
    r"(?i)readFile|readTextFile|\bofFile\b|Files\.(read|lines|newInput|newBuffered|copy)|readLines|readRDS|File\.(read|open|foreach|binread)|IO\.(read|binread)|file_get_contents|"
    r"\bopen\s*[( ]|slurp|fopen|readfile|Get-Content|\bgc\b|ReadAll(Text|Bytes)|readdir|"
    r"\bglob\b|Dir\[|createReadStream|Deno\.read|Bun\.file|while\s*\(?\s*<|getline|"
    r"\bfile\s*\(|io\.(open|lines)|copy\s*\(|ARGF|<>"
)
_SENDS = re.compile(
    r"(?i)\bPOST\b|post_form|\.(post|put|write|send|end|puts|print|syswrite|pipe)\s*[( ]|"
    r"\bputs\b.*sock|UploadString|UploadFile|UploadData|\bbody\s*[:=]|POSTFIELDS|sendBeacon|"
    r"\bdata\s*:|print\s+[{$]?\w*sock|-InFile|-Body|fwrite|sendMail|send\s*\(|\?\w+=|"
    r"mail\s*\(|\|&|setRequestHeader|\bprint\b|http_build_query|\?[\"']\s*[.+]"
)
_HEADERS = re.compile(r"(?i)\bheaders?\b|\bauth\w*\s*[:=]")
_ENVIRONMENT = re.compile(
    r"process\.env\b(?!\.\w)|\bENV\b(?!\[)|%ENV\b|getenv\(\s*\)|\$_(ENV|SERVER)\b|"
    r"(?i:env:\*?(?=[\s)|]|$))|\bENVIRON\b|Deno\.env\.toObject|os\.environ\b|"
    r"require\(.os.\)|os\.(hostname|userInfo)|gethostname|\$\{?ENV\b"
)
_PICKS_SECRETS = re.compile(
    r"(?i)[/'\"|(^]\W{0,3}(\w*_)?(passw(or)?d|secret|token|api_?key|key|credentials?)\b[^\n]{0,40}[/'\"|)]"
)
_RUNS = re.compile(
    r"\beval\b|new\s+Function|\bFunction\s*\(|vm\.run\w*|instance_eval|class_eval|(?i:\biex\b|Invoke-Expression)"
    r"|child_process|execSync|\bexec\b|\bsystem\b|\bassert\s*\(|create_function|include\s*\(|loadstring"
    r"|require\s*\(\s*.https?:|\bload\s*\(|DownloadString|Start-Process|(?i:io\.popen)|os\.execute|ProcessBuilder"
    r"|getRuntime|\((load|shell-command|call-process|start-process|eval-buffer)\b|\brun\s*\(|exec\.Command|syscall\.Exec"
)
_EVALUATES = re.compile(
    r"\beval\b|\bFunction\s*\(|\bvm\.run\w*|(?:instance|class)_eval|\bload(?:string)?\s*\(|\bcreate_function\b"
)
_READ_BY_AWK = re.compile(r"\bgetline\b[^;}\n<]{0,80}<\s*\"([^\"\n]+)\"")
_RUN_IN_BACKTICKS = frozenset({"ruby", "perl", "php"})
_FILLED_BACKTICKS = re.compile(r"(`|%x[{(\[])[^`\n]{0,200}[#$@]")
_AWK_RUNS = re.compile(r"\bsystem\s*\((?!\s*\"[^\"]*\"\s*\))|\|&?\s*\"(\S*/)?(ba|z|da|k)?sh\b")
_DECODES = re.compile(
    r"(?i)\bpack\s*\(?\s*.[HCUm]|\bunpack1?\b|b64decode|decode64|base64_decode|\batob\b|decode_base64|FromBase64"
    r"|fromCharCode|fromCodePoint|string\.char\b|\bmap\s*\{?[\s(]*\bchr\b|\bmap\s*\(\s*&:chr|'(base64|hex)'"
    r"|\"(base64|hex)\"|sprintf\s*\(\s*.(%c){2}|(\bchr\s*\(\s*\w+\s*\)\s*\.\s*){2}|(\[char\]\s*\d+\W{1,4}){2}|gzinflate|str_rot13|\bstrrev\b"
)
_WRITES = re.compile(
    r"(?i)write(File|AllText|Sync)?|append|['\"][wa]\+?['\"]|['\"]>>?|file_put_contents|"
    r"Set-Content|Add-Content|Out-File|symlink|copy|rename|>\s*\""
)
_WRITTEN = re.compile(
    r"""\bopen\s*\(?[^,\n]{0,40},\s*["']\+?>>?["']\s*,\s*["']([^"'\n]+)["']|\bopen\s*\(?[^,\n]{0,40},\s*["']>>?\s*([^"'\n]+)["']
    |\b(?:File|IO)\.(?:bin)?write\s*\(?\s*["']([^"'\n]+)["']
    |\bFile\.open\s*\(?\s*["']([^"'\n]+)["']\s*,\s*["'](?![rb]+["'])
    |\b(?:write|append)File(?:Sync)?\s*\(\s*["'`]([^"'`\n]+)["'`]|\bfile_put_contents\s*\(\s*["']([^"'\n]+)["']
    |\b(?:copy|copy_stream|getstore)\b[^\n;]{0,200}?,\s*["']([^"'\n]+)["']\s*\)|\bcreateWriteStream\s*\(\s*["']([^"'\n]+)["']
    |\bprintf?\b(?:"[^"\n]{0,200}"|[^"'\n;}>]){0,40}>>?\s*"([^"\n]+)\"""",
    re.VERBOSE,
)
"""The names of files that Perl, Ruby, JavaScript, PHP and awk write."""
_NAMED_VARIABLE = re.compile(
    r"""\bprocess\.env\.(\w+)|\b(?:process\.env|ENV|ENVIRON|\$_ENV)\[\s*["']?(\w+)|\$ENV\{\s*["']?(\w+)
    |\b(?:getenv|Deno\.env\.get|ENV\.fetch)\s*\(\s*["'](\w+)
    |\bRails\.application\.(credentials|secrets|secret_key_base)\b|\bconfig\(\s*["'](?:[\w-]+\.)*(\w+)["']\s*\)""",
    re.VERBOSE,
)
_SETS_USER = re.compile(
    r"POSIX::set[ug]id|posix_set[ug]id|Process(::Sys)?\.set[ug]id|Process\.[eu]*id\s*=|"
    r"process\.set(u|g|eu)id|\$[<>]\s*=\s*0"
)
_LISTENS = re.compile(r"TCPServer|createServer|Listen\s*=>|net\.Server|stream_socket_server|TcpListener")
_GROWS = re.compile(
    r"fork\s*(\(\s*\))?\s*while\s*(\(?1|fork)|while\s*\(?\s*(1|true|"
    r":)\s*\)?\s*[{:;]?(?:(?!break|sleep|read|recv|accept|return)[^}]){0,120}\b(fork|spawn|"
    r"exec|push|malloc|alloc|concat|appendFile\w*)\b|loop\s*(do|\{)\s*fork|"
    r"for\s*\(;;\)\s*\{?[^}]{0,60}(fork|malloc|spawn)"
)
_MAC_ASKS = re.compile(
    r"(?i)hidden answer|display dialog[^\n]*password|with administrator privileges|"
    r"keystroke|the clipboard|login item|key code|do JavaScript"
)
_STARTS_LATER = re.compile(
    r"(?i)\b(?:New|Set)-Item(?:Property)?\b[^;\n]{0,200}CurrentVersion\\+(?:Run|Policies)|Register-ScheduledTask|\bNew-Service\b"
    r"|\bRegister-(?:Wmi|Cim)\w*Event|[\w.]SetValue\([^)\n]{0,200}CurrentVersion\\+Run|\$PROFILE\b[^\n]{0,80}\bAdd-Content"
    r"|\b(?:Add|Set)-Content\b[^\n]{0,80}\$PROFILE\b"
)
_SHOWS = re.compile(r"\bprint|\bputs\b|\becho\b|console\.log|\bp\s|say\b|Write-(Output|Host)|\bpp\b")


def reduce_code(text: str, around: CommandReduction, incoming: Data = NO_DATA, program: str = "code") -> Data:
    """Hand the effects to `around`, and return what the code may print."""
    texts = [next(filter(None, found.groups()), "") for found in _TEXT.finditer(text)]
    words = [*texts, *_BARE.findall(text)]
    held = _find_secrets(words) or _find_read(text, texts, program)
    held |= _find_variables(text)
    for path in _READ_BY_AWK.findall(text) if program.endswith("awk") else ():
        held |= around.read_file(path)
    if _ENVIRONMENT.search(text):
        held |= {Datum(DataKind.ENVIRONMENT, program)}
        if _PICKS_SECRETS.search(text) and _SHOWS.search(text):
            around.add(SideEffect(EffectKind.REVEAL, "shows the secrets of the environment"))
    for nested in list_effects_of_code(text, program):
        if isinstance(nested, NestedShell):
            held |= around.run_shell(nested.text, incoming, through=program)
    has_secrets = find_kind(held, DataKind.SECRET) is not None
    _judge_calls(text, around, program)
    if (_AWK_RUNS if program.endswith("awk") else _RUNS).search(text):
        around.run_data(incoming)
    if _EVALUATES.search(text):
        around.run_data(each for each in held if each.kind is DataKind.FETCHED)
    if _WRITES.search(text):
        homes = (f"~/{word.lstrip('/')}" for word in texts if word.startswith((".", "/.")))
        for word in (*words, *homes):
            if not starts_by_itself(word) and not governs_agents(word):
                continue
            around.write_file(word, NO_DATA)
    is_shown = has_secrets and (_READS.search(text) or _SHOWS.search(text))
    shown = held if is_shown else incoming
    fetched = _reach_network(text, words, around, held | incoming, program)
    for found in _WRITTEN.finditer(text):
        around.write_file(next(filter(None, found.groups())), held | incoming | fetched)
    return fetched | shown


def _reach_network(text: str, words: Sequence[str], around: CommandReduction, data: Data, program: str) -> Data:
    """Take what code sends, and return what it fetches."""
    if not _NETWORK.search(text):
        return NO_DATA
    around.add(SideEffect(EffectKind.CONNECT, f"connects to another machine by {program}"))
    if (host := _find_host(text, words)) is None:
        return NO_DATA
    fetched = frozenset({Datum(DataKind.FETCHED, host)})
    if _SENDS.search(text):
        around.send(data, host)
    elif _HEADERS.search(text):
        around.send(drop_usual_keys((each for each in data if each.kind is DataKind.SECRET), host), host)
    if _RUNS.search(text) or (program in _RUN_IN_BACKTICKS and _FILLED_BACKTICKS.search(text)):
        around.run_data(fetched)
    return fetched


def _find_secrets(words: Iterable[str]) -> Data:
    found = (find_secret(word) for word in words if not word.startswith("http"))
    return frozenset(Datum(DataKind.SECRET, each) for each in found if each)


def _find_variables(text: str) -> Data:
    names = (next(filter(None, found.groups())) for found in _NAMED_VARIABLE.finditer(text))
    return frozenset(Datum(DataKind.SECRET, f"${name}") for name in names if is_secret_name(name))


def _find_read(text: str, texts: Iterable[str], program: str) -> Data:
    if not _READS.search(text):
        return NO_DATA
    names = (each for each in texts if "/" in each and "://" not in each and " " not in each)
    return frozenset({Datum(DataKind.FILE, next(names, f"a file that {program} reads"))})


def _find_host(text: str, words: Iterable[str]) -> str | None:
    """The other machine that the code talks to; None where it is this one."""
    addresses = _ADDRESS.findall(text)
    others = [each for each in addresses if not is_local(each)]
    if not others and any(map(is_local, (*words, *addresses))):
        return None
    return find_host(others[0]) if others else "another machine"


def _judge_calls(text: str, around: CommandReduction, program: str) -> None:
    if not tells_calls(program):
        around.add(SideEffect(EffectKind.UNKNOWN, f"runs code of {program}, whose calls are not all known"))
    if _DECODES.search(text) and _RUNS.search(text):
        around.run_data((Datum(DataKind.DECODED, program),))
    for pattern, kind, does in _CALLS:
        if pattern.search(text):
            around.add(SideEffect(kind, does))
    if program == "osascript" and (asked := _MAC_ASKS.search(text)):
        does = f"acts in the name of the person at the screen: {asked[0]}"
        around.add(SideEffect(EffectKind.REVEAL, does))


_CALLS = (
    (_SETS_USER, EffectKind.ELEVATE, "acts as another user"),
    (_GROWS, EffectKind.EXHAUST, "takes more and more of the machine"),
    (_LISTENS, EffectKind.ADMIT, "lets other machines connect"),
    (_STARTS_LATER, EffectKind.PERSIST, "has something run by itself later"),
)
