#!/usr/bin/env bash
# Guess before the run: the MCP server of ESLint answers with what the linter found, as JSON. Seen: it puts a text before
# and a text behind that JSON which say what the model must do, show the whole list first and ask the person before it
# mends anything, and it does so for each file list, also one without a problem. Nothing marks the two texts, no
# annotation and no audience, so a client cannot tell them from the linter's words; and the answer as a whole is no JSON
# any more. An agent that obeys tools stops with a question where the person had asked for nothing to be confirmed, as in
# a run without a terminal. quorum tells models that the output of tools is data, whatever it asks for.
# This lints one file with a problem and one without, without quorum, and fails once the server answers in another way.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
npm install --silent --no-audit --no-fund --prefix "$work" @eslint/mcp@0.3.13 >/dev/null 2>&1
mkdir "$work/project"
echo 'module.exports = [{ rules: { "no-unused-vars": "error" } }];' > "$work/project/eslint.config.js"
echo 'const unused = 1;' > "$work/project/problem.js"
echo 'console.log(1);' > "$work/project/clean.js"

cat > "$work/lint.py" <<'PY'
import json, subprocess, sys

command, project = sys.argv[1:]
server = subprocess.Popen([command], cwd=project, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def send(method, params, id_=None):
    message = {"jsonrpc": "2.0", "method": method, "params": params} | ({} if id_ is None else {"id": id_})
    server.stdin.write(json.dumps(message) + "\n")
    server.stdin.flush()
    while id_ is not None:
        answer = json.loads(server.stdout.readline())
        if answer.get("id") == id_:
            return answer["result"]


def describe(block):
    marks = ", ".join(sorted(set(block) - {"type", "text"})) or "no marks"
    try:
        found = json.loads(block["text"])
        return f"JSON with {found['errorCount']} errors"
    except ValueError:
        return f"words with {block['text'].count('must')} 'must' ({marks})"


client = {"name": "finding", "version": "1"}
send("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}, 1)
send("notifications/initialized", {})
for number, name in enumerate(("problem.js", "clean.js"), 2):
    result = send("tools/call", {"name": "lint-files", "arguments": {"filePaths": [f"{project}/{name}"]}}, number)
    print(f"0.3.13, {name}: " + "; ".join(map(describe, result["content"])))
server.stdin.close()
server.wait()
PY

python3 "$work/lint.py" "$work/node_modules/.bin/mcp" "$work/project" | tee "$work/seen"

diff "$work/seen" - <<'SEEN' && echo "as it was seen"
0.3.13, problem.js: words with 1 'must' (no marks); JSON with 1 errors; words with 1 'must' (no marks)
0.3.13, clean.js: words with 1 'must' (no marks); JSON with 0 errors; words with 1 'must' (no marks)
SEEN
