"""Calls of Python that are an effect by their name, whatever data reach them."""

from __future__ import annotations

import ast
import base64
import binascii
import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from quorum.domain.review.effects.places import is_wide
from quorum.domain.review.effects.side_effect import EffectKind, SideEffect
from quorum.domain.review.hazards.inline_code import list_nodes

RUNS_CODE = frozenset(
    {
        "exec",
        "eval",
        "compile",
        "builtins.exec",
        "builtins.eval",
        "pickle.loads",
        "pickle.load",
        "marshal.loads",
        "dill.loads",
        "cloudpickle.loads",
        "importlib.import_module",
        "types.FunctionType",
        "ctypes.CDLL",
        "yaml.unsafe_load",
        "execfile",
        "code.interact",
    }
)
RUNS_FILES = frozenset(
    {"runpy.run_path", "importlib.util.spec_from_file_location", "importlib.machinery.SourceFileLoader"}
)
DELETES = frozenset({"os.remove", "os.unlink", "os.rmdir", "os.removedirs", "shutil.rmtree"})
MOVES = frozenset({"shutil.move", "os.rename", "os.replace"})
COPIES = frozenset(
    {
        "shutil.copy",
        "shutil.copy2",
        "shutil.copyfile",
        "shutil.copytree",
        "shutil.move",
        "os.rename",
        "os.replace",
        "os.link",
        "os.symlink",
        "shutil.make_archive",
    }
)
OPENS = frozenset(
    {
        *("open", "io.open", "os.open", "codecs.open", "gzip.open", "sqlite3.connect", "zipfile.ZipFile"),
        *("tarfile.open", "os.fdopen", "aiofiles.open", "fileinput.input"),
    }
)
OPENS_PATH = frozenset({"read_text", "read_bytes", "write_text", "write_bytes", "open", "touch", "symlink_to"})
FOLDERS = {
    **dict.fromkeys(("pathlib.Path.home", "Path.home"), "~"),
    **dict.fromkeys(
        ("site.getsitepackages", "site.getusersitepackages", "sysconfig.get_path", "sysconfig.get_paths"),
        "$PREFIX/site-packages",
    ),
}
LEADS_PROGRAMS = frozenset(
    {"LD_PRELOAD", "LD_LIBRARY_PATH", "DYLD_INSERT_LIBRARIES", "PATH", "PYTHONSTARTUP", "BASH_ENV"}
)
EXECUTES = frozenset({"execute", "executemany", "executescript", "to_sql"})
KEEPS = frozenset(
    {
        *("append", "extend", "update", "insert", "add", "put", "add_header", "attach", "set_payload"),
        "set_content",
    }
)
TYPED = re.compile(
    r"(ImageGrab\.grab|pyautogui\.screenshot|mss\.\w+|pyscreenshot\.grab|"
    r"pynput\.\S*Listener|keyboard\.(on_press|record|read_event|hook)|pyperclip\.paste|"
    r"pyaudio\.PyAudio|sounddevice\.rec|cv2\.VideoCapture|keyring\.get_password|"
    r"browser_cookie3\.\w+|win32crypt\.\w+|getpass\.getpass)"
)
_WRITING_FLAGS = frozenset({"O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND"})
_READS_FIRST = re.compile(
    r"(pandas|polars|dask\.dataframe)\.(read|scan)_\w+|numpy\.(load\w*|genfromtxt|fromfile)|cv2\.imread"
    r"|(PIL\.)?Image\.open|linecache\.(getlines?|updatecache)|joblib\.load|torch\.load|soundfile\.read"
)
_WRITES_FIRST = re.compile(
    r"os\.truncate|(shelve|dbm(\.\w+)?)\.open|(logging\.)?(handlers\.)?\w*FileHandler|numpy\.(save\w*|memmap)"
    r"|cv2\.imwrite|soundfile\.write|.*\.(to_(csv|json|excel|parquet|pickle|html|feather|hdf|xml|markdown|stata)"
    r"|savefig|save|write_(csv|parquet|json|ndjson|excel|ipc|image|html)|tofile|dump_stats)"
)
_WRITES_SECOND = re.compile(r"(torch|joblib)\.(save|dump)|plistlib\.dump")
_SETS = frozenset({"shelve.open", "dbm.open"})
_SETS_USER = frozenset({"setuid", "setgid", "seteuid", "setresuid", "setreuid"})
_SNIFFS = frozenset({"sniff", "send", "sendp", "sr1", "srp", "LiveCapture", "ARP"})
_SNIFFERS = ("scapy.", "pcapy.", "pyshark.", "impacket.")
_CAPTURES = re.compile(
    r"(PIL\.)?ImageGrab\.grab|pyautogui\.(screenshot|typewrite|write)|mss\.\w+|pyscreenshot\.grab"
    r"|pynput\.\S*Listener|(pynput\.)?(keyboard|mouse)\.(Listener|on_press|record|read_event|hook)"
    r"|pyaudio\.PyAudio|sounddevice\.rec|cv2\.VideoCapture"
)
_SECRET_ENDING = re.compile(
    r"(?i)\.(pem|key|kdbx|ppk|p12|pfx|ovpn|keytab)|id_(rsa|dsa|ecdsa|ed25519)\w*|.*(passw|credential|wallet).*"
    r"|\.?(env|netrc|pgpass|git-credentials|htpasswd)|\.ssh|\.aws|\.gnupg|.*_history|Login Data|Cookies"
    r"|logins\.json"
)
_WALKS = frozenset({"walk", "rglob", "glob", "iglob", "scandir", "listdir"})


def judge_call(name: str, node: ast.Call, first: str | None) -> Iterator[SideEffect]:
    """What a call of this dotted name does; `first` is its first argument where that is a known text."""
    last = name.rpartition(".")[2]
    if last in _SETS_USER:
        yield SideEffect(EffectKind.ELEVATE, "acts as another user")
    elif last == "chmod":
        values = (each.value for each in list_nodes(node) if isinstance(each, ast.Constant))
        if any(isinstance(mode, int) and not isinstance(mode, bool) and mode & 0o6002 for mode in values):
            does = f"lets others change {first or 'a file'}, or run it with its owner's rights"
            yield SideEffect(EffectKind.ELEVATE, does)
    elif name.startswith(("winreg.SetValue", "winreg.CreateKey")):
        yield SideEffect(EffectKind.PERSIST, "changes the registry")
    elif name == "crontab.CronTab":
        yield SideEffect(EffectKind.PERSIST, "schedules something to run by itself")
    elif (name.startswith(_SNIFFERS) and last in _SNIFFS) or (
        last == "socket" and "SOCK_RAW" in ast.dump(node)
    ):
        yield SideEffect(EffectKind.ATTACK, "reads or makes up what others send")
    elif last == "environ":
        yield SideEffect(EffectKind.REVEAL, "shows the environment of other processes")
    elif last == "connect_ex":
        yield SideEffect(EffectKind.ATTACK, "looks for open ports of another machine")
    elif _CAPTURES.fullmatch(name):
        yield SideEffect(EffectKind.REVEAL, "captures what somebody types, shows or says")


def judge_calls(names: Collection[str], texts: Collection[str], *, is_socket: bool) -> Iterator[SideEffect]:
    """What the calls of a code do together; `texts` are all texts that stand in it."""
    lasts = {name.rpartition(".")[2] for name in names}
    if is_socket and "bind" in lasts and lasts & {"listen", "recvfrom", "accept"}:
        yield SideEffect(EffectKind.ADMIT, "lets other machines connect")
    is_home = not {"pathlib.Path.home", "Path.home"}.isdisjoint(names)
    is_wide_walk = bool(lasts & _WALKS) and (is_home or any(map(is_wide, texts)))
    if is_wide_walk and any(map(_SECRET_ENDING.fullmatch, texts)):
        yield SideEffect(EffectKind.REVEAL, "searches the machine for credentials")
    if is_wide_walk and "encrypt" in lasts and lasts & {"write", "write_bytes"}:
        yield SideEffect(EffectKind.HARM, "makes files unreadable for whoever has no key")
    if "serve_forever" in lasts and "chdir" in lasts and any(map(is_wide, texts)):
        yield SideEffect(EffectKind.SEND, "serves the files of the machine to whoever connects")


def judge_for(node: ast.For) -> Iterator[SideEffect]:
    """What a loop does with each of its values."""
    inner = list_nodes(node)
    passwords = [
        each.value for each in inner if isinstance(each, ast.keyword) and _PASSWORD.fullmatch(each.arg or "")
    ]
    if any(_list_names(node.target) & _list_names(each) for each in passwords):
        yield SideEffect(EffectKind.ATTACK, "tries one password after the other")


def _list_names(node: ast.AST) -> set[str]:
    return {each.id for each in list_nodes(node) if isinstance(each, ast.Name)}


def judge_endless_loop(
    node: ast.While, names: Collection[str], inner: Sequence[ast.AST]
) -> Iterator[SideEffect]:
    """What a loop does over and over; `inner` are the nodes of its body, `names` those of the calls in it."""
    lasts = {name.rpartition(".")[2] for name in names}
    if any(isinstance(each, ast.Break | ast.Return | ast.Raise) for each in inner) or lasts & _WAITS:
        return
    if isinstance(node.test, ast.Constant) and all(isinstance(each, ast.Pass) for each in node.body):
        yield SideEffect(EffectKind.EXHAUST, "goes on without an end, and does nothing but that")
    elif any(name.startswith(("requests.", "httpx.", "urllib.")) for name in names):
        yield SideEffect(EffectKind.ATTACK, "asks another machine again and again")
    elif lasts & _GROWS and "get" not in lasts:
        yield SideEffect(EffectKind.EXHAUST, "goes on without an end, and takes more and more of the machine")


_PASSWORD = re.compile(r"pass\w*|pwd|auth\w*")
_GROWS = frozenset({"fork", "Thread", "Process", "Popen", "append", "write", "start", "extend"})
_WAITS = frozenset(
    {
        *("sleep", "accept", "recv", "recvfrom", "input", "readline", "wait", "read", "join", "select"),
        "communicate",
    }
)


def may_make_address(nodes: Iterable[ast.AST]) -> bool:
    """Whether a text in code may hold `://`: it stands in one, begins at the end of one, or is made by what
    turns texts into others."""
    for node in nodes:
        match node:
            case ast.Constant(value=str(text)):
                if "://" in text or text.endswith((":", ":/")):
                    return True
            case ast.Constant(value=bytes(raw)):
                if b"://" in raw or raw.endswith((b":", b":/")):
                    return True
            case ast.Attribute(attr=method):
                if method in ("replace", "join") or DECODES.fullmatch(method):
                    return True
            case ast.Slice(step=ast.UnaryOp()) | ast.Name(id="chr" | "bytes" | "bytearray"):
                return True
            case _:
                continue
    return False


def spells_letters(node: ast.Call) -> bool:
    """Whether a call makes letters of numbers that do not stand there one by one."""
    match node:
        case ast.Call(func=ast.Name(id="chr"), args=[ast.Constant()]):
            return False
        case (
            ast.Call(func=ast.Name(id="chr")) | ast.Call(func=ast.Name(id="map"), args=[ast.Name(id="chr"), *_])
        ):
            return True
        case _:
            return False


def find_read(name: str, node: ast.Call) -> ast.expr | None:
    """The word of a call that names a file whose content it returns."""
    return node.args[0] if node.args and _READS_FIRST.fullmatch(name) else None


def find_saved(name: str, node: ast.Call) -> ast.expr | None:
    """The word of a call that names a file which the call writes by itself."""
    if name == "logging.basicConfig":
        return next((each.value for each in node.keywords if each.arg == "filename"), None)
    if _WRITES_SECOND.fullmatch(name):
        return node.args[1] if len(node.args) > 1 else None
    return node.args[0] if node.args and _WRITES_FIRST.fullmatch(name) else None


def name_saved(name: str, path: str) -> str:
    """The files of a store of keys have endings that depend on what holds it."""
    return f"{path}*" if name in _SETS else path


def opens_to_write(name: str, node: ast.Call) -> bool:
    """Whether a call that opens a file says by other words than a mode that it will be changed."""
    if name == "fileinput.input":
        return any(each.arg == "inplace" for each in node.keywords)
    flags = (part.attr for word in node.args[1:2] for part in ast.walk(word) if isinstance(part, ast.Attribute))
    return name == "os.open" and not _WRITING_FLAGS.isdisjoint(flags)


def change_path(method: str, path: str, word: str | None) -> str | None:
    """The path that a method of a path makes of it and one word; None where it is another method."""
    folder, slash, name = path.rpartition("/")
    match method:
        case "with_suffix":
            return f"{folder}{slash}{re.sub(r'[.][^.]*$', '', name) or name}{word or '*'}"
        case "with_name" | "with_stem":
            return f"{folder}{slash}{word or '*'}{'*' if method == 'with_stem' else ''}"
        case _:
            return None


def name_archive(given: Sequence[str | None]) -> str:
    """The archive that `shutil.make_archive` makes, by its first words."""
    name, form, *_ = (*given, None, None)
    return f"{name or '$x'}{_ARCHIVE_ENDINGS.get(form or '', '')}"


DECODES = re.compile(
    r"(b64decode|b32decode|b16decode|b85decode|a85decode|urlsafe_b64decode|unhexlify|"
    r"fromhex|decompress|decodebytes|decodestring|rot13|decrypt)"
)
_ARCHIVE_ENDINGS = {"zip": ".zip", "tar": ".tar", "gztar": ".tar.gz", "bztar": ".tar.bz2", "xztar": ".tar.xz"}


def decode_text(method: str, text: str) -> str | None:
    """The text that a function of this name makes of another; None where it cannot."""
    raw = text.encode("latin-1", "ignore")
    try:
        match method:
            case "b64decode" | "decodebytes" | "urlsafe_b64decode":
                return base64.b64decode(raw).decode("utf-8", "replace")
            case "b32decode":
                return base64.b32decode(raw).decode("utf-8", "replace")
            case "unhexlify" | "fromhex" | "b16decode":
                return bytes.fromhex(text).decode("utf-8", "replace")
            case "b85decode":
                return base64.b85decode(raw).decode("utf-8", "replace")
            case _:
                return None
    except (ValueError, binascii.Error):
        return None
