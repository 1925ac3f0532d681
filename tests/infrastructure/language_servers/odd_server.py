"""A small language server for tests: a line with BROKEN is an error. `manners` say how it misbehaves.

Run as a program: python odd_server.py MANNERS-FILE LOG-FILE
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

MANNERS: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
LOG = Path(sys.argv[2])
texts: dict[str, str] = {}
versions: dict[str, int] = {}


def log(message: object) -> None:
    with LOG.open("a", encoding="utf-8") as file:
        file.write(json.dumps(message) + "\n")


def send_raw(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def send(message: dict[str, Any]) -> None:
    if noise := MANNERS.get("noise"):
        send_raw(noise.encode())
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    send_raw(
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: %d\r\n\r\n" % len(body)
        + body
    )


def read() -> dict[str, Any] | None:
    length = 0
    while line := sys.stdin.buffer.readline():
        if not line.strip():
            return json.loads(sys.stdin.buffer.read(length))  # type: ignore[no-any-return]
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return None


def find_problems(uri: str) -> list[dict[str, Any]]:
    breaks_all = any("BREAKS ALL" in text for text in texts.values())
    return [
        {
            "range": {"start": {"line": number, "character": 0}, "end": {"line": number, "character": 1}},
            "severity": 4 if "HINT" in line else 1,
            "source": "odd",
            "code": "E1",
            "message": MANNERS.get("message", "it is broken: ") + line.strip(),
        }
        for number, line in enumerate(texts[uri].split("\n"))
        if "BROKEN" in line or "HINT" in line or ("import" in line and breaks_all)
    ]


def publish(uri: str) -> None:
    if MANNERS.get("pull") or MANNERS.get("says_nothing"):
        return
    if late := MANNERS.get("hold_back"):  # until the file is there
        while not os.path.exists(late):
            time.sleep(0.01)
    params = {"uri": uri, "diagnostics": find_problems(uri)}
    if MANNERS.get("versions"):
        if versions[uri] > 1 and MANNERS["versions"] == "stale":
            stale = [{**each, "message": "stale"} for each in params["diagnostics"]]
            told = {"uri": uri, "version": versions[uri] - 1, "diagnostics": stale}
            send({"method": "textDocument/publishDiagnostics", "params": told})
        params["version"] = versions[uri]
    send({"method": "textDocument/publishDiagnostics", "params": params})


def find_place(params: dict[str, Any]) -> dict[str, Any]:
    position = params["position"]
    log({"asked": position})
    return {"uri": params["textDocument"]["uri"], "range": {"start": position, "end": position}}


def answer(method: str, params: dict[str, Any]) -> Any:
    match method:
        case "initialize":
            return {
                "capabilities": {
                    "positionEncoding": MANNERS.get("encoding", "utf-16"),
                    "textDocumentSync": {"openClose": True, "change": 1, "save": True},
                    "definitionProvider": True,
                    "referencesProvider": True,
                    "hoverProvider": True,
                    "documentSymbolProvider": True,
                    "workspaceSymbolProvider": True,
                    **({"diagnosticProvider": MANNERS.get("provider", {})} if MANNERS.get("pull") else {}),
                },
                "serverInfo": {"name": "odd", "version": "1"},
            }
        case "textDocument/diagnostic":
            return {"kind": "full", "items": find_problems(params["textDocument"]["uri"])}
        case "textDocument/definition" if MANNERS.pop("reads_first", False):
            send({"method": "$/progress", "params": {"token": 1, "value": {"kind": "begin"}}})
            return []
        case "textDocument/definition":
            return MANNERS.get("locations") or find_place(params)
        case "textDocument/references":
            return MANNERS.get("locations", [])
        case "workspace/symbol":
            return [{"name": "found", "kind": 12, "location": each} for each in MANNERS.get("locations", [])]
        case "textDocument/hover":
            return {"contents": MANNERS.get("hover", "")}
        case "textDocument/documentSymbol":
            return MANNERS.get("symbols", [])
        case _:
            return None


def take(message: dict[str, Any]) -> bool:
    method, params = message.get("method", ""), message.get("params") or {}
    log(message)
    if method == MANNERS.get("crash_on"):
        print("odd server: out of luck", file=sys.stderr, flush=True)
        os._exit(3)
    if method == "exit":
        return False
    if method in MANNERS.get("silent_on", ()):
        return True
    document = params.get("textDocument", {})
    if method == "textDocument/didOpen":
        texts[document["uri"]], versions[document["uri"]] = document["text"], document["version"]
        publish(document["uri"])
    elif method == "textDocument/didChange":
        texts[document["uri"]] = params["contentChanges"][-1]["text"]
        versions[document["uri"]] = document["version"]
        publish(document["uri"])
    elif method == "initialized":
        for number, (asked, given) in enumerate(MANNERS.get("asks", ())):
            send({"id": f"q{number}", "method": asked, "params": given})
    elif "id" in message and method:
        if method in MANNERS.get("refuses", {}):
            send({"id": message["id"], "error": {"code": MANNERS["refuses"][method], "message": "no"}})
            MANNERS["refuses"].pop(method)  # once
        else:
            send({"id": message["id"], "result": answer(method, params)})
            if method == "textDocument/definition":
                send({"method": "$/progress", "params": {"token": 1, "value": {"kind": "end"}}})
    return True


log({"started": os.getpid(), "environment": dict(os.environ)})
if flood := MANNERS.get("raw"):
    send_raw(flood.encode())
while (told := read()) is not None and take(told):
    pass
