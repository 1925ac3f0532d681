#!/usr/bin/env bash
# A hook of a project for Claude Code may answer that the person is to be asked, and Copilot CLI runs the same file. The guess
# was that both then ask the client over ACP, as they do about the same command without a hook, and that both run the call
# where the hook fails with exit code 1, as Claude Code documents. Claude's adapter does both. Copilot CLI asks nobody and
# tells the model that the *user* has denied it; and the hook that fails denies it, too. So a hook that is careful turns into
# one that forbids, a hook that is broken stops one agent and is no hindrance for the other, and the model is told of a
# refusal that no person gave. quorum's gate answers these agents with exit code 0 or 2, and its guide says what they make of
# a hook that fails.
# This runs both with three hooks and a model on loopback, and fails once one of them behaves in another way.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work" || true' EXIT
npm install --silent --no-audit --no-fund --prefix "$work" @github/copilot@1.0.102 @agentclientprotocol/claude-agent-acp@0.101.0 \
  >/dev/null 2>&1

cat > "$work/ask.py" <<'PY'
import json, os, signal, subprocess, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

work = sys.argv[1]
ASKS = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask", "permissionDecisionReason": "look"}}
HOOKS = {"says nothing": "true", "fails with exit code 1": "exit 1", "asks": f"echo '{json.dumps(ASKS)}'"}
results = []


class Model(BaseHTTPRequestHandler):
    """Asks for one command, and keeps what it is told of it."""

    def do_HEAD(self):
        self.send_response(200)
        self.end_headers()

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        blocks = [each for told in asked["messages"] for each in told["content"] if isinstance(each, dict)]
        told = [str(each["content"]) for each in blocks if each["type"] == "tool_result"]
        results.extend(told)
        tool = next((each["name"] for each in asked.get("tools", []) if each["name"] in ("Bash", "bash")), None)
        block, delta, reason = {"type": "text", "text": ""}, {"type": "text_delta", "text": "done"}, "end_turn"
        if tool and not told and "Make it." in json.dumps(blocks):
            command = json.dumps({"command": "touch made", "description": "make it"})
            block, delta = {"type": "tool_use", "id": "toolu_1", "name": tool, "input": {}}, {"type": "input_json_delta"}
            delta, reason = {**delta, "partial_json": command}, "tool_use"
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
        events = [
            {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None}},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta}, {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage},
            {"type": "message_stop"},
        ]
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for event in events:
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    def log_message(self, *_):
        pass


def run(words, settings, folder, mode):
    """Allow all that is asked; how often that was."""
    agent = subprocess.Popen(
        [f"{work}/node_modules/.bin/{words[0]}", *words[1:]], cwd=folder, text=True, env=settings, start_new_session=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )
    asked = 0

    def send(message):
        agent.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        agent.stdin.flush()

    def request(number, method, params):
        nonlocal asked
        send({"id": number, "method": method, "params": params})
        for line in agent.stdout:
            told = json.loads(line) if line.startswith("{") else {}
            if told.get("id") == number and "method" not in told:
                return told["result"]
            if told.get("method") == "session/request_permission":
                asked += 1
                once = next(each["optionId"] for each in told["params"]["options"] if each["kind"] == "allow_once")
                send({"id": told["id"], "result": {"outcome": {"outcome": "selected", "optionId": once}}})
        raise SystemExit("the agent has ended")

    try:
        request(1, "initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        session = {"sessionId": request(2, "session/new", {"cwd": folder, "mcpServers": []})["sessionId"]}
        if mode:
            request(3, "session/set_mode", {**session, "modeId": mode})
        request(4, "session/prompt", {**session, "prompt": [{"type": "text", "text": "Make it."}]})
    finally:
        os.killpg(agent.pid, signal.SIGKILL)
    return asked


def try_one(name, words, mode=None, **settings):
    for number, (what, does) in enumerate(HOOKS.items()):
        results.clear()
        home, folder = (f"{work}/{name}-{number}/{each}" for each in ("home", "project"))
        hook = {"type": "command", "command": f"cat >/dev/null; {does}"}
        files = {
            f"{home}/.copilot/config.json": {"trusted_folders": [folder]},
            f"{folder}/.claude/settings.json": {"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [hook]}]}},
        }
        for path, content in files.items():
            os.makedirs(os.path.dirname(path))
            with open(path, "w") as file:
                json.dump(content, file)
        asked = run(words, {"PATH": os.environ["PATH"], "HOME": home, "TERM": "dumb", **settings}, folder, mode)
        made = "run" if os.path.exists(f"{folder}/made") else "not run"
        by_user = ", denied by user" if any("Denied by user" in each for each in results) else ""
        print(f"{name}, the hook {what}: the client is {'asked once' if asked == 1 else 'never asked'}, the call is {made}{by_user}")


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_address[1]}"
try_one("claude-agent-acp 0.101.0", ["claude-agent-acp"], "default", ANTHROPIC_API_KEY="none", ANTHROPIC_BASE_URL=url,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1")
try_one("copilot 1.0.102", ["copilot", "--acp", "--disable-builtin-mcps"], COPILOT_OFFLINE="true", COPILOT_AUTO_UPDATE="false",
        COPILOT_MODEL="m", COPILOT_PROVIDER_TYPE="anthropic", COPILOT_PROVIDER_BASE_URL=url, COPILOT_PROVIDER_API_KEY="none")
PY

timeout 280 python3 "$work/ask.py" "$work" 2>/dev/null | tee "$work/seen"

diff "$work/seen" - <<'SEEN' && echo "as it was seen"
claude-agent-acp 0.101.0, the hook says nothing: the client is asked once, the call is run
claude-agent-acp 0.101.0, the hook fails with exit code 1: the client is asked once, the call is run
claude-agent-acp 0.101.0, the hook asks: the client is asked once, the call is run
copilot 1.0.102, the hook says nothing: the client is asked once, the call is run
copilot 1.0.102, the hook fails with exit code 1: the client is never asked, the call is not run
copilot 1.0.102, the hook asks: the client is never asked, the call is not run, denied by user
SEEN
