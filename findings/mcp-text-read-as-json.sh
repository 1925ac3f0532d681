#!/usr/bin/env bash
# A tool of a server made with the Python SDK of MCP takes an optional text: `text: str | None`. The guess was that a text
# arrives as it was sent, whatever it says. Where a parameter is not just `str`, the server first reads a text as JSON, and
# takes the result unless it is a text or a number: the text `null` arrives as nothing, the text `["a"]` as a list, and a
# text that holds a JSON object is refused as no text. With `text: str` all arrive. So a note, a file or a message that is
# itself JSON cannot be sent to such a tool, and what it gets is not what was approved; a client cannot see it, as the
# schema says "string or null". quorum sends arguments as they were approved, and shows what the server answers.
# This calls three tools of a small server, and fails once it behaves in another way.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" -q install mcp==2.3.0 2>/dev/null

cat > "$work/server.py" <<'PY'
from mcp.server import MCPServer

server = MCPServer("notes")


@server.tool()
def plain(text: str) -> str:
    return repr(text)


@server.tool()
def optional(text: str | None = None) -> str:
    return repr(text)


@server.tool()
def several(text: str | list[str]) -> str:
    return repr(text)


server.run()
PY

cat > "$work/ask.py" <<'PY'
import json, subprocess, sys
from importlib.metadata import version

server = subprocess.Popen(
    [sys.executable, sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
)
count = 0


def send(message):
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    server.stdin.flush()


def ask(method, params):
    global count
    count += 1
    send({"id": count, "method": method, "params": params})
    while (told := json.loads(server.stdout.readline())).get("id") != count:
        pass
    return told["result"]


ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "finding", "version": "1"}})
send({"method": "notifications/initialized"})
print("mcp", version("mcp"))
for tool in ("plain", "optional", "several"):
    for text in ("true", "null", '["a"]', '{"a": 1}'):
        told = ask("tools/call", {"name": tool, "arguments": {"text": text}})
        said = "an error" if told.get("isError") else told["content"][0]["text"]
        print(f"{tool}: the text {text} arrives as {said}")
server.stdin.close()
server.wait()
PY

"$work/venv/bin/python" "$work/ask.py" "$work/server.py" | tee "$work/seen"

diff "$work/seen" - <<'SEEN' && echo "as it was seen"
mcp 2.3.0
plain: the text true arrives as 'true'
plain: the text null arrives as 'null'
plain: the text ["a"] arrives as '["a"]'
plain: the text {"a": 1} arrives as '{"a": 1}'
optional: the text true arrives as 'true'
optional: the text null arrives as None
optional: the text ["a"] arrives as an error
optional: the text {"a": 1} arrives as an error
several: the text true arrives as 'true'
several: the text null arrives as an error
several: the text ["a"] arrives as ['a']
several: the text {"a": 1} arrives as an error
SEEN
