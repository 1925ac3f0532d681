#!/usr/bin/env bash
# Agents have a hook that is told each prompt; by its name it hears what the person submits, and nothing else.
# Claude Code also runs it for its own notice that a background command has ended, which no field tells from a prompt.
# Copilot CLI also runs it for what the model asks a subagent for, told apart by fields about the agent alone. Who takes
# such a text for the wish of the person lets a model write it; quorum leaves both out.
# This runs the agents alone against a model on this machine, one prompt each, and fails once they behave in another way.
set -euo pipefail
work=$(mktemp -d)
trap 'kill "$model" 2>/dev/null || true; rm -rf "$work"' EXIT
npm install --silent --no-audit --no-fund --prefix "$work" @anthropic-ai/claude-code@2.1.332 @github/copilot@1.0.102 >/dev/null 2>&1

cat > "$work/model.py" <<'PY'
"""Asks for one call where the tool for it is offered, and ends when its result is in the conversation."""
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CALLS = {
    "Bash": {"command": "true", "description": "Do nothing", "run_in_background": True},
    "task": {"description": "Do nothing", "prompt": "written by a model", "name": "n", "agent_type": "general-purpose"},
}


class Model(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        names = [tool["name"] for tool in asked.get("tools", [])]
        text = json.dumps(asked["messages"])
        tool = next((name for name in CALLS if name in names and "tool_result" not in text), None)
        if "written by a model" in text and "tool_result" not in text:
            tool = None
        block, delta, reason = {"type": "text", "text": ""}, {"type": "text_delta", "text": "Done."}, "end_turn"
        if tool:
            block = {"type": "tool_use", "id": "toolu_1", "name": tool, "input": {}}
            delta, reason = {"type": "input_json_delta", "partial_json": json.dumps(CALLS[tool])}, "tool_use"
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
        message |= {"stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
        end = {"delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": 1}}
        events = ({"type": "message_start", "message": message}, {"type": "content_block_start", "index": 0, "content_block": block})
        events += ({"type": "content_block_delta", "index": 0, "delta": delta}, {"type": "content_block_stop", "index": 0})
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for event in (*events, {"type": "message_delta", **end}, {"type": "message_stop"}):
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
server.serve_forever()
PY
cat > "$work/hook.py" <<'PY'
import json, os, sys

told = json.load(sys.stdin)
known = ("agentId", "agentType", "parentAgentId", "agent_id", "agent_type")
marks = sorted(name for name in known if name in told)
print(f"{sys.argv[1]}: {told['prompt'].splitlines()[0]!r}, fields about an agent: {marks}", file=open(os.environ["SEEN"], "a"))
PY
mkdir -p "$work/home/.claude" "$work/home/.copilot/hooks" "$work/project"
hook() { printf 'python3 %s %s' "$work/hook.py" "$1"; }
echo "{\"hooks\": {\"UserPromptSubmit\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"$(hook claude)\"}]}]}}" > "$work/home/.claude/settings.json"
echo "{\"version\": 1, \"hooks\": {\"userPromptSubmitted\": [{\"type\": \"command\", \"bash\": \"$(hook copilot)\"}]}}" > "$work/home/.copilot/hooks/h.json"
python3 "$work/model.py" > "$work/url" &
model=$!
until [ -s "$work/url" ]; do sleep 0.1; done
url=$(cat "$work/url")
cd "$work/project"
alone() { env -i PATH="$work/node_modules/.bin:$PATH" HOME="$work/home" TERM=dumb SEEN="$work/seen" "$@" </dev/null >/dev/null 2>&1; }
alone ANTHROPIC_BASE_URL="$url" ANTHROPIC_API_KEY=none CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 \
  claude -p "written by the person" --model sonnet --allowedTools Bash
alone COPILOT_OFFLINE=true COPILOT_AUTO_UPDATE=false COPILOT_MODEL=m COPILOT_PROVIDER_TYPE=anthropic COPILOT_PROVIDER_BASE_URL="$url" \
  COPILOT_PROVIDER_API_KEY=none copilot -p "written by the person" --allow-all-tools --disable-builtin-mcps
for name in claude copilot; do alone sh -c "$name --version >&3" 3>>"$work/versions"; done
grep -o '[0-9.]*[0-9]' "$work/versions" | tr '\n' ' '; echo; cat "$work/seen"

diff "$work/seen" - <<'SEEN' && echo "as it was seen"
claude: 'written by the person', fields about an agent: []
claude: '<task-notification>', fields about an agent: []
copilot: 'written by the person', fields about an agent: []
copilot: 'written by a model', fields about an agent: ['agentId', 'agentType', 'parentAgentId']
SEEN
