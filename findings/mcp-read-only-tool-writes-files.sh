#!/usr/bin/env bash
# A tool of an MCP server may say that it changes nothing (`readOnlyHint`). The guess was that such tools of a server for
# browsers look at pages. Six of Playwright's, which say so and that they destroy nothing, also take a `filename`, and
# write what they saw to that file of the project, over what was there: a picture of the page, but also its text, where
# `package.json` may be named. The server of Chrome DevTools, made for the same work, leaves the mark away from each tool
# that can write a file. A client that runs marked tools without a question overwrites files. For quorum no hint of a
# server counts: a tool runs without review only where the person has named it.
# This has the tool overwrite a file in a temporary folder, and fails once one of the servers behaves in another way.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work" || true' EXIT
npm install --silent --no-audit --no-fund --prefix "$work" @playwright/mcp@0.0.83 chrome-devtools-mcp@1.11.0 \
  @sparticuz/chromium@153.0.0 >/dev/null 2>&1
mkdir "$work/project" "$work/home"

cat > "$work/unpack.mjs" <<'JS'
import chromium from '@sparticuz/chromium'

console.log(await chromium.executablePath())
JS

cat > "$work/ask.py" <<'PY'
import json, os, subprocess, sys

work = sys.argv[1]
SETTINGS = {"PATH": os.environ["PATH"], "HOME": f"{work}/home", "TMPDIR": work, "CHROME_DEVTOOLS_MCP_NO_USAGE_STATISTICS": "1"}
unpacked = subprocess.run(["node", f"{work}/unpack.mjs"], capture_output=True, text=True, check=True, env=SETTINGS)


class Server:
    def __init__(self, *command):
        self.process = subprocess.Popen(
            [f"{work}/node_modules/.bin/{command[0]}", *command[1:]], cwd=f"{work}/project", text=True, env=SETTINGS,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )
        self.count = 0
        asked = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "finding", "version": "1"}}
        self.name = self.request("initialize", asked)["serverInfo"]["name"]
        self.send({"method": "notifications/initialized"})
        self.tools = self.request("tools/list", {})["tools"]

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def request(self, method, params):
        self.count += 1
        self.send({"id": self.count, "method": method, "params": params})
        for line in self.process.stdout:
            told = json.loads(line)
            if told.get("id") == self.count and "method" not in told:
                return told["result"]
        raise SystemExit("the server has ended")

    def end(self):
        self.process.stdin.close()
        self.process.wait(30)


def get_names(tools):
    return " ".join(sorted(tool["name"] for tool in tools))


def names_a_file(tool):
    return {"filename", "filePath"} & set(tool["inputSchema"].get("properties", {}))


def is_marked(tool):
    return tool.get("annotations", {}).get("readOnlyHint", False)


playwright = Server("playwright-mcp", "--headless", "--isolated", "--no-sandbox", "--executable-path", unpacked.stdout.strip())
devtools = Server("chrome-devtools-mcp", "--headless", "--isolated")
for server in (playwright, devtools):
    with_file = [tool for tool in server.tools if names_a_file(tool)]
    print(f"{server.name}, read-only and names a file:", get_names(filter(is_marked, with_file)) or "none")
    print(f"{server.name}, only names a file:", get_names(tool for tool in with_file if not is_marked(tool)))
with open(f"{work}/project/notes.txt", "w") as notes:
    notes.write("written by the person\n")
playwright.request("tools/call", {"name": "browser_navigate", "arguments": {"url": "about:blank"}})
arguments = {"level": "info", "filename": "notes.txt"}
marks = next(tool["annotations"] for tool in playwright.tools if tool["name"] == "browser_console_messages")
print("browser_console_messages:", {name: marks[name] for name in ("readOnlyHint", "destructiveHint")})
playwright.request("tools/call", {"name": "browser_console_messages", "arguments": arguments})
print("notes.txt:", open(f"{work}/project/notes.txt").read().strip())
playwright.end()
devtools.end()
PY

timeout 180 python3 "$work/ask.py" "$work" | tee "$work/seen"

diff "$work/seen" - <<'SEEN' && echo "as it was seen"
Playwright, read-only and names a file: browser_console_messages browser_find browser_network_request browser_network_requests browser_snapshot browser_take_screenshot
Playwright, only names a file: browser_evaluate browser_run_code_unsafe
chrome_devtools, read-only and names a file: none
chrome_devtools, only names a file: evaluate_script performance_start_trace performance_stop_trace screencast_start take_heapsnapshot take_screenshot take_snapshot
browser_console_messages: {'readOnlyHint': True, 'destructiveHint': False}
notes.txt: Total messages: 0 (Errors: 0, Warnings: 0)
SEEN
