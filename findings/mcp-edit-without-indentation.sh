#!/usr/bin/env bash
# The tool `edit_file` of the published MCP server for files "replaces exact line sequences". The guess was that an edit
# whose old lines differ from those of the file in white space is refused, or that the new lines keep their own indentation.
# It is done and reported as done, and the new lines lose their indentation wherever an old line stands as deep as the new
# one: the body of an `if` stands beside it, and the command of a rule of make is no command any more. It takes no more
# than a space at the end of a line. An edit that fits exactly keeps it. A client that asks about such a call shows other
# lines than will be written. quorum asks about tools of servers, and shows the diff that this one answers.
# This edits files in a temporary folder, and fails once the server behaves in another way.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
npm install --silent --no-audit --no-fund --prefix "$work" @modelcontextprotocol/server-filesystem@2026.8.31 >/dev/null 2>&1
mkdir "$work/files"

cat > "$work/ask.py" <<'PY'
import json, subprocess, sys

work = sys.argv[1]
server = subprocess.Popen(
    [f"{work}/node_modules/.bin/mcp-server-filesystem", f"{work}/files"],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
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
with open(f"{work}/node_modules/@modelcontextprotocol/server-filesystem/package.json") as package:
    print("server-filesystem", json.load(package)["version"])
for before, old, new in (
    ("if a:\n    b()\n", "if a:\n    b()", "if a:\n    c()"),
    ("if a: \n    b()\n", "if a:\n    b()", "if a:\n    c()"),
    ("if a:\n\tb()\n", "if a:\n    b()", "if a:\n    c()"),
    ("all: \n\techo one\n", "all:\n\techo one", "all:\n\techo two"),
):
    path = f"{work}/files/edited.txt"
    with open(path, "w") as file:
        file.write(before)
    told = ask("tools/call", {"name": "edit_file", "arguments": {"path": path, "edits": [{"oldText": old, "newText": new}]}})
    with open(path) as file:
        print(f"{before!r}, {old!r} to {new!r}: {'error' if told.get('isError') else 'done'}, {file.read()!r}")
server.stdin.close()
server.wait()
PY

python3 "$work/ask.py" "$work" | tee "$work/seen"

diff "$work/seen" - <<'SEEN' && echo "as it was seen"
server-filesystem 2026.8.31
'if a:\n    b()\n', 'if a:\n    b()' to 'if a:\n    c()': done, 'if a:\n    c()\n'
'if a: \n    b()\n', 'if a:\n    b()' to 'if a:\n    c()': done, 'if a:\nc()\n'
'if a:\n\tb()\n', 'if a:\n    b()' to 'if a:\n    c()': done, 'if a:\nc()\n'
'all: \n\techo one\n', 'all:\n\techo one' to 'all:\n\techo two': done, 'all:\necho two\n'
SEEN
