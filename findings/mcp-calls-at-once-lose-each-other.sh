#!/usr/bin/env bash
# Models ask for several calls in one answer, and clients send them at once: a server answers each by its id. The guess was
# that a server does one after the other where they change the same thing. Two of the published reference servers read the
# file, change it and write it back for each call on its own: of four edits of different lines of one file, and of four
# entities that are to be remembered, all are reported as done and, as a rule, one is left. Sent one after the other, all are there.
# Nothing in the list of tools says which calls may be sent at once, so a client has to wait for the end of each call that
# may change something. quorum sends a server one such call after the other.
# This sends the same four calls in both ways, and fails once one of the servers behaves in another way.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
npm install --silent --no-audit --no-fund --prefix "$work" @modelcontextprotocol/server-filesystem@2026.8.31 \
  @modelcontextprotocol/server-memory@2026.8.31 >/dev/null 2>&1

cat > "$work/ask.py" <<'PY'
import json, os, subprocess, sys

work = os.path.realpath(sys.argv[1])
FILE, GRAPH = f"{work}/files/lines.txt", f"{work}/graph.json"


class Server:
    def __init__(self, *words):
        self.process = subprocess.Popen(
            [f"{work}/node_modules/.bin/{words[0]}", *words[1:]], text=True, env={**os.environ, "MEMORY_FILE_PATH": GRAPH},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )
        self.count = 0
        asked = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "finding", "version": "1"}}
        self.request(("initialize", asked))
        self.send({"method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def request(self, *asked):
        """Send all of these, and wait for the answers."""
        waiting = set()
        for method, params in asked:
            self.count += 1
            self.send({"id": self.count, "method": method, "params": params})
            waiting.add(self.count)
        results = []
        while waiting:
            told = json.loads(self.process.stdout.readline())
            if told.get("id") in waiting:
                waiting.remove(told["id"])
                results.append(told["result"])
        return results

    def end(self):
        self.process.stdin.close()
        self.process.wait(30)


def try_one(name, package, start, calls, count):
    version = json.load(open(f"{work}/node_modules/@modelcontextprotocol/{package}/package.json"))["version"]
    for how in ("one after the other", "at once"):
        start()
        server = Server(*name)
        asked = [("tools/call", each) for each in calls]
        results = server.request(*asked) if how == "at once" else [server.request(each)[0] for each in asked]
        server.end()
        done = sum(not each.get("isError") for each in results)
        print(f"{package} {version}, {len(calls)} calls {how}: {done} are done, {'all' if count() == 4 else 'not all'} are there")


def make_lines():
    os.makedirs(f"{work}/files", exist_ok=True)
    with open(FILE, "w") as file:
        file.writelines(f"line {number}\n" for number in range(4))


def forget():
    if os.path.exists(GRAPH):
        os.remove(GRAPH)


edits = [[{"oldText": f"line {number}\n", "newText": f"changed {number}\n"}] for number in range(4)]
entities = [[{"name": f"entity {number}", "entityType": "thing", "observations": []}] for number in range(4)]
try_one(
    ("mcp-server-filesystem", f"{work}/files"), "server-filesystem", make_lines,
    [{"name": "edit_file", "arguments": {"path": FILE, "edits": each}} for each in edits],
    lambda: open(FILE).read().count("changed"),
)
try_one(
    ("mcp-server-memory",), "server-memory", forget,
    [{"name": "create_entities", "arguments": {"entities": each}} for each in entities],
    lambda: open(GRAPH).read().count('"entity '),
)
PY

timeout 120 python3 "$work/ask.py" "$work" | tee "$work/seen"

diff "$work/seen" - <<'SEEN' && echo "as it was seen"
server-filesystem 2026.8.31, 4 calls one after the other: 4 are done, all are there
server-filesystem 2026.8.31, 4 calls at once: 4 are done, not all are there
server-memory 2026.8.31, 4 calls one after the other: 4 are done, all are there
server-memory 2026.8.31, 4 calls at once: 4 are done, not all are there
SEEN
