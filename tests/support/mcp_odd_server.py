"""An MCP server on standard input and output that prints what it is told, byte for byte.

Its argument is JSON: `call` is the answer to a call, with @ID for the id of the request; `result` its result;
`tools` what it lists; `greeting` what it says of itself; `refuses` what it answers to some methods as an error.
"""

from __future__ import annotations

import json
import sys


def main() -> None:
    plan = json.loads(sys.argv[1])
    tools = plan.get("tools", [{"name": "ok", "inputSchema": {"type": "object"}}])
    greeting = {"capabilities": {"tools": {}}, "serverInfo": {"name": "odd", "version": "1"}}
    for line in sys.stdin:
        request = json.loads(line)
        request_id, method = request.get("id"), request.get("method")
        if method in plan.get("refuses", {}):
            error = {"code": -32603, "message": plan["refuses"][method]}
            print(json.dumps({"jsonrpc": "2.0", "id": request_id, "error": error}), flush=True)
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
