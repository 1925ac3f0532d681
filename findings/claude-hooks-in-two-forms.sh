#!/usr/bin/env bash
# Copilot CLI runs the hooks that a trusted project has for Claude Code in `.claude/settings.json`. One would expect that one
# file of another program's settings gets that program's form throughout. It does not: `PreToolUse` gets Claude Code's
# (`hook_event_name`, `tool_name`, `Write`), with arguments of Copilot's own; `PermissionRequest`, in the same file, gets
# Copilot's (`hookName`, `toolName`, `edit`), in which the same call has other arguments. A hook that reads
# `hook_event_name` takes the second for no hook at all. quorum tells the program apart by what it sends, and reads both.
# This runs Copilot CLI alone, with a model on loopback that asks for one new file, and fails once it does otherwise.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work" || true' EXIT
npm install --silent --no-audit --no-fund --prefix "$work" @github/copilot@1.0.102 >/dev/null 2>&1
mkdir -p "$work/home" "$work/project/.claude"

cat > "$work/hook.py" <<'PY'
import json, sys

sent, record = json.load(sys.stdin), sys.argv[1]
tool, given = ("tool_name", "tool_input") if "tool_name" in sent else ("toolName", "toolInput")
event = next(name for name in ("hook_event_name", "hookName") if name in sent)
with open(record, "a") as file:
    file.write(f"{event}={sent[event]} {tool}={sent[tool]} {given}: {', '.join(sorted(sent[given]))}\n")
PY
cat > "$work/ask.py" <<'PY'
import json, os, subprocess, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

work = sys.argv[1]
project = f"{work}/project"


class Model(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        block, delta, reason = {"type": "text", "text": ""}, {"type": "text_delta", "text": "done"}, "end_turn"
        if "call_1" not in json.dumps(asked["messages"]):
            block = {"type": "tool_use", "id": "call_1", "name": "create", "input": {}}
            given = json.dumps({"path": f"{project}/new.txt", "file_text": "x"})
            delta, reason = {"type": "input_json_delta", "partial_json": given}, "tool_use"
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "own", "content": [],
                   "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
        events = [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None},
             "usage": {"output_tokens": 1}},
            {"type": "message_stop"},
        ]
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for event in events:
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
command = {"type": "command", "command": f"{sys.executable} {work}/hook.py {work}/seen"}
hooks = {event: [{"matcher": "*", "hooks": [command]}] for event in ("PreToolUse", "PermissionRequest")}
for path, content in ((f"{project}/.claude/settings.json", {"hooks": hooks}),
                      (f"{work}/home/config.json", {"trusted_folders": [project]})):
    with open(path, "w") as file:
        json.dump(content, file)
subprocess.run(
    [f"{work}/node_modules/.bin/copilot", "-p", "Make the file.", "--allow-all-tools", "--disable-builtin-mcps"],
    cwd=project, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120, check=True,
    env={"PATH": os.environ["PATH"], "HOME": f"{work}/home", "COPILOT_HOME": f"{work}/home", "COPILOT_OFFLINE": "true",
         "COPILOT_AUTO_UPDATE": "false", "COPILOT_MODEL": "own", "COPILOT_PROVIDER_TYPE": "anthropic",
         "COPILOT_PROVIDER_BASE_URL": f"http://127.0.0.1:{server.server_address[1]}",
         "COPILOT_PROVIDER_API_KEY": "none"},
)
PY

python3 "$work/ask.py" "$work"
echo "Copilot CLI 1.0.102; new.txt is $([ -e "$work/project/new.txt" ] && echo made || echo missing)" >> "$work/seen"
cat "$work/seen"

diff "$work/seen" - <<'SEEN' && echo "as it was seen"
hook_event_name=PreToolUse tool_name=Write tool_input: file_text, path
hookName=permissionRequest toolName=edit toolInput: diff, file_path
Copilot CLI 1.0.102; new.txt is made
SEEN
