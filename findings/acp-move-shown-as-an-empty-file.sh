#!/usr/bin/env bash
# Codex's adapter for ACP asks before a patch that moves a file. One would expect both names in the question, or the
# content of the file. What it shows is a change of the new name from nothing to nothing; the old name, which will be
# gone, stands only in `locations`. A client that draws the diff asks about an empty file. quorum takes a diff for an
# edit only where it is about all the files that the call names, and asks about the rest in every mode.
# This asks the adapter alone, with a model on loopback that answers one such patch, refuses the permission, and fails
# once it asks in another way.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work" || true' EXIT
npm install --silent --no-audit --no-fund --prefix "$work" @agentclientprotocol/codex-acp@2.6.0 >/dev/null 2>&1
mkdir -p "$work/home" "$work/project"
echo content > "$work/project/old.txt"

cat > "$work/ask.py" <<'PY'
import json, os, signal, subprocess, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

work = sys.argv[1]
PATCH = "*** Begin Patch\n*** Update File: old.txt\n*** Move to: new.txt\n@@\n-content\n+content\n*** End Patch\n"


class Model(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = self.rfile.read(int(self.headers["Content-Length"]))
        item = {"type": "message", "role": "assistant", "id": "m", "content": [{"type": "output_text", "text": "done"}]}
        if b'"call_1"' not in asked:
            item = {"type": "custom_tool_call", "call_id": "call_1", "name": "apply_patch", "input": PATCH}
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        events = [
            {"type": "response.created", "response": {"id": "r"}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {"id": "r", "usage": usage}},
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
with open(f"{work}/home/config.toml", "w") as settings:
    settings.write(
        'model = "gpt-5.5"\nmodel_provider = "own"\n[model_providers.own]\nname = "own"\nwire_api = "responses"\n'
        f'base_url = "http://127.0.0.1:{server.server_address[1]}/v1"\n'
    )
agent = subprocess.Popen(
    [f"{work}/node_modules/.bin/codex-acp"], cwd=f"{work}/project", text=True,
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
    env={"PATH": os.environ["PATH"], "HOME": f"{work}/home", "CODEX_HOME": f"{work}/home"},
)


def send(message):
    agent.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    agent.stdin.flush()


def request(id_, method, params):
    """Send it; what else comes before its answer is told or refused."""
    send({"id": id_, "method": method, "params": params})
    for line in agent.stdout:
        told = json.loads(line)
        if told.get("id") == id_ and "method" not in told:
            return told["result"]
        if told.get("method") == "session/request_permission":
            call = told["params"]["toolCall"]
            print("asks about", [os.path.basename(each["path"]) for each in call.get("locations", [])])
            send({"id": told["id"], "result": {"outcome": {"outcome": "cancelled"}}})
        elif told.get("method") == "session/update":
            update = told["params"]["update"]
            for each in update.get("content", []) if update["sessionUpdate"] == "tool_call" else []:
                print("shows", os.path.basename(each["path"]), "from", repr(each["oldText"]), "to", repr(each["newText"]))
        elif "id" in told:
            send({"id": told["id"], "error": {"code": -32601, "message": "unknown method"}})


try:
    request(1, "initialize", {"protocolVersion": 1, "clientCapabilities": {}})
    session = request(2, "session/new", {"cwd": f"{work}/project", "mcpServers": []})["sessionId"]
    request(3, "session/set_config_option", {"sessionId": session, "configId": "mode", "value": "read-only"})
    request(4, "session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "Move the file."}]})
finally:
    os.killpg(agent.pid, signal.SIGKILL)
PY

python3 "$work/ask.py" "$work" | tee "$work/seen"
echo "codex-acp 2.6.0; old.txt is $([ -e "$work/project/old.txt" ] && echo there || echo gone)" | tee -a "$work/seen"

diff "$work/seen" - <<'SEEN' && echo "as it was seen"
shows new.txt from '' to ''
asks about ['old.txt']
codex-acp 2.6.0; old.txt is there
SEEN
