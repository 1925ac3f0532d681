"""An MCP server on standard input and output that prints what it is told, byte for byte.

Its argument is JSON: `call` is the answer to a call, with @ID for the id of the request; `result` its result;
`tools` what it lists; `greeting` what it says of itself; `refuses` what it answers to some methods as an error.
`probe` is what it does when it is asked for its versions, and `log` a file of the first message of each start.
"""

from __future__ import annotations

import json
import sys
from typing import Any


def refuse(request_id: object, message: str) -> None:
    error = {"code": -32603, "message": message}
    print(json.dumps({"jsonrpc": "2.0", "id": request_id, "error": error}), flush=True)


def log_first(plan: dict[str, Any], number: int, method: str) -> None:
    if number == 0 and "log" in plan:
        with open(plan["log"], "a", encoding="utf-8") as log:
            log.write(f"{method}\n")


def fail_at(probe: str, request: dict[str, Any]) -> bool:
    """Do what `probe` says; whether the request got no proper answer by that."""
    if probe == "end":
        sys.exit("expected the greeting")
    if probe == "spoil":
        refuse(request.get("id"), "the greeting must come first")
    return probe != ""


def main() -> None:
    plan = json.loads(sys.argv[1])
    probe = ""
    tools = plan.get("tools", [{"name": "ok", "inputSchema": {"type": "object"}}])
    greeting = {"capabilities": {"tools": {}}, "serverInfo": {"name": "odd", "version": "1"}}
    for number, line in enumerate(sys.stdin):
        request = json.loads(line)
        request_id, method = request.get("id"), request.get("method")
        log_first(plan, number, method)
        is_probe = method == "server/discover"
        probe = plan.get("probe", "") if is_probe else "" if probe == "ignore" else probe
        if fail_at(probe, request):
            continue
        if method in plan.get("refuses", {}):
            refuse(request_id, plan["refuses"][method])
            continue
        if method == "initialize":
            version = request["params"]["protocolVersion"]
            result = {"protocolVersion": version, **plan.get("greeting", greeting)}
            client = request["params"]["clientInfo"]
        elif method == "tools/list":
            at = int((request.get("params") or {}).get("cursor") or 0)
            size = plan.get("page", 1000)
            result = {"tools": tools[at : at + size]}
            if at + size < len(tools):
                result["nextCursor"] = str(at + size)
            if plan.get("circle"):
                result["nextCursor"] = "0"
        elif method == "tools/call" and "call" in plan:
            written = plan["call"].replace("@ID", json.dumps(request_id)).encode("latin-1")
            sys.stdout.buffer.write(written)
            sys.stdout.buffer.flush()
            continue
        elif method == "tools/call" and plan.get("tells"):
            told = client if plan["tells"] == "client" else request["params"]["arguments"]
            result = {"content": [{"type": "text", "text": json.dumps(told)}]}
        elif method == "tools/call":
            result = plan.get("result", {"content": [{"type": "text", "text": "fine"}]})
        elif request_id is None:
            continue
        else:
            error = {"code": -32601, "message": "no such method"}
            print(json.dumps({"jsonrpc": "2.0", "id": request_id, "error": error}), flush=True)
            continue
        print(json.dumps({"jsonrpc": "2.0", "id": request_id, "result": result}), flush=True)


main()
