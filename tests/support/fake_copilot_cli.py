"""A Copilot CLI that plays a script: the protocol of the real one, without the model and without GitHub.

Run as a program, with a folder as its first argument. There it finds `config.json` and the steps of its
script, and there it logs each request to its model. A crash loses nothing: its successor goes on from there.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_STAMP = "2026-01-01T00:00:00.000Z"
_FINISH = {
    "end_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "refusal": "content_filter",
}
_USAGE = {
    "inputTokens": 12,
    "outputTokens": 11,
    "cacheReadTokens": 5,
    "cacheWriteTokens": 3,
    "reasoningTokens": 2,
}


def read_frame() -> dict[str, Any] | None:
    length = 0
    while line := sys.stdin.buffer.readline().strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return json.loads(sys.stdin.buffer.read(length)) if length else None


def write_frame(message: dict[str, Any]) -> None:
    body = json.dumps(message).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    sys.stdout.buffer.flush()


@dataclass
class Session:
    """One session: what it may offer, and the calls that wait for results."""

    id: str
    custom_tools_allowed: bool
    tools: list[str]
    prompt: str = ""
    batch: list[str] = field(default_factory=list)
    pending: dict[str, str] = field(default_factory=dict)
    results: dict[str, dict[str, Any]] = field(default_factory=dict)

    def offered(self) -> list[str]:
        return self.tools if self.custom_tools_allowed else []

    def tell(self, kind: str, **data: Any) -> None:
        event = {"type": kind, "data": data, "id": str(uuid.uuid4()), "timestamp": _STAMP, "parentId": None}
        params = {"sessionId": self.id, "event": event}
        write_frame({"jsonrpc": "2.0", "method": "session.event", "params": params})


class FakeCli:
    """Plays the steps that lie in its folder, each to one request to the model."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config: dict[str, Any] = json.loads((folder / "config.json").read_text())
        self.sessions: dict[str, Session] = {}

    def serve(self) -> None:
        self.log({"launched": os.getpid(), "environ": dict(os.environ), "cwd": os.getcwd()})
        while (message := read_frame()) is not None:
            method, params = message["method"], message.get("params") or {}
            answer = getattr(self, "on_" + method.replace(".", "_"), None)
            if answer is None:
                error = {"code": -32601, "message": f"Unhandled method {method}"}
                write_frame({"jsonrpc": "2.0", "id": message["id"], "error": error})
                continue
            self.log({"method": method, "params": params})
            reply = {"jsonrpc": "2.0", "id": message["id"]}
            proceed = answer(params, reply)
            write_frame(reply)
            if proceed is not None:
                proceed()
            if method == "runtime.shutdown":
                return

    def log(self, entry: dict[str, Any]) -> None:
        with (self.folder / "log.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def next_step(self) -> dict[str, Any]:
        waiting = sorted(self.folder.glob("step-*.json"))
        if not waiting:
            raise SystemExit("the script has no further step")
        step: dict[str, Any] = json.loads(waiting[0].read_text())
        waiting[0].unlink()
        return step

    def on_connect(self, _params: Any, reply: Any) -> None:
        version = {"protocolVersion": self.config["protocol"], "version": self.config["version"]}
        reply["result"] = {"ok": True, **version, "taskKinds": []}

    def on_ping(self, params: Any, reply: Any) -> None:
        reply["result"] = {
            "message": f"pong: {params.get('message')}",
            "timestamp": _STAMP,
            "protocolVersion": 3,
        }

    def on_models_list(self, _params: Any, reply: Any) -> None:
        if self.config["models"] is None:
            text = "Request models.list failed with message: Not authenticated. Please authenticate first."
            reply["error"] = {"code": -32603, "message": text}
        else:
            limits = {"max_context_window_tokens": 1}
            able = {"supports": {"vision": False, "reasoningEffort": False}, "limits": limits}
            reply["result"] = {
                "models": [{"id": name, "name": name, "capabilities": able} for name in self.config["models"]]
            }

    def on_session_create(self, params: Any, reply: Any) -> None:
        names = [tool["name"] for tool in params.get("tools") or []]
        session = Session(params["sessionId"], "custom:*" in params["availableTools"], names)
        self.sessions[session.id] = session
        reply["result"] = {"sessionId": session.id, "capabilities": {}}

    def on_session_options_update(self, _params: Any, reply: Any) -> None:
        reply["result"] = {"success": True}

    def on_session_tools_set(self, params: Any, reply: Any) -> None:
        self.sessions[params["sessionId"]].tools = [tool["name"] for tool in params["tools"]]
        reply["result"] = {}

    def on_session_send(self, params: Any, reply: Any) -> Any:
        session = self.sessions[params["sessionId"]]
        session.prompt = params["prompt"]
        reply["result"] = {"messageId": str(uuid.uuid4())}
        return lambda: self.ask_model(session)

    def on_session_tools_handlePendingToolCall(self, params: Any, reply: Any) -> Any:
        session = self.sessions[params["sessionId"]]
        call_id = session.pending.pop(params["requestId"], None)
        reply["result"] = {"success": call_id is not None}
        if call_id is None:
            return None
        session.results[call_id] = params["result"]
        session.tell("external_tool.completed", requestId=params["requestId"])
        session.tell("tool.execution_complete", toolCallId=call_id, success=True)
        return None if session.pending else lambda: self.ask_model(session)

    def on_session_abort(self, params: Any, reply: Any) -> Any:
        session = self.sessions[params["sessionId"]]
        session.pending.clear()
        session.results.clear()
        reply["result"] = {"success": True}
        return None if self.config["deaf"] else lambda: session.tell("session.idle", aborted=True)

    def on_session_detach(self, _params: Any, reply: Any) -> None:
        reply["result"] = {"success": True}

    def on_session_delete(self, params: Any, reply: Any) -> None:
        reply["result"] = {"success": self.sessions.pop(params["sessionId"], None) is not None}

    def on_runtime_shutdown(self, _params: Any, reply: Any) -> None:
        reply["result"] = None

    def ask_model(self, session: Session) -> None:
        results = [
            {"id": call, "text": session.results[call]["textResultForLlm"], **session.results[call]}
            for call in session.batch
            if call in session.results
        ]
        asked = {
            "session": session.id,
            "prompt": session.prompt,
            "tools": session.offered(),
            "results": results,
        }
        self.log({"asked": asked})
        session.batch, session.results, session.prompt = [], {}, ""
        self.play(session, self.next_step())

    def play(self, session: Session, step: dict[str, Any]) -> None:
        message_id = str(uuid.uuid4())
        for reason in step["retries"]:
            session.tell("assistant.turn_retry", turnId="0", reason=reason)
        session.tell("assistant.turn_start", turnId="0")
        if step["reasoning"]:
            session.tell("assistant.reasoning_delta", reasoningId="r", deltaContent=step["reasoning"])
        for piece in step["pieces"]:
            session.tell("assistant.message_delta", messageId=message_id, deltaContent=piece)
        for call in step["calls"]:
            middle = len(call["arguments"]) // 2
            for piece in (call["arguments"][:middle], call["arguments"][middle:]):
                name = {"toolCallId": call["id"], "toolName": call["name"]}
                session.tell("assistant.tool_call_delta", **name, inputDelta=piece)
        match step["ending"]:
            case "whole":
                self.end_message(session, step, message_id)
            case "error" | "failed":
                session.tell("session.error", **step["error"])
                session.tell("session.idle")
            case "drop":
                os._exit(3)
            case "reset":
                os.kill(os.getpid(), signal.SIGKILL)
            case "garbage":
                sys.stdout.buffer.write(b"\xff\xfe no frame at all\n")
                sys.stdout.buffer.flush()
            case "stall":
                return
            case unknown:
                raise SystemExit(f"no answer can end as {unknown}")

    def end_message(self, session: Session, step: dict[str, Any], message_id: str) -> None:
        finish = _FINISH.get(step["stop"], step["stop"])
        session.tell("assistant.usage", model="scripted", finishReason=finish, **_USAGE)
        if finish == "length" and not step["calls"] and any(self.folder.glob("step-*.json")):
            return self.ask_model(session)  # as the real one does: the message ends with its continuation
        wanted = [{"toolCallId": c["id"], "name": c["name"], "arguments": _parsed(c)} for c in step["calls"]]
        requests = [{**call, "arguments": call["arguments"] or {}, "type": "function"} for call in wanted]
        text = "".join(step["pieces"])
        session.tell("assistant.message", messageId=message_id, content=text, toolRequests=requests)
        session.batch = [call["toolCallId"] for call in wanted]
        for call in wanted:
            call_id, name, arguments = call["toolCallId"], call["name"], call["arguments"]
            if name not in session.offered() or arguments is None:
                session.tell("tool.execution_complete", toolCallId=call_id, success=False)
                continue
            request_id = str(uuid.uuid4())
            session.pending[request_id] = call_id
            named = {"toolCallId": call_id, "toolName": name, "arguments": arguments}
            session.tell("external_tool.requested", requestId=request_id, sessionId=session.id, **named)
        if session.pending:
            return None
        if wanted:
            return self.ask_model(session)
        session.tell("assistant.turn_end", turnId="0")
        return session.tell("session.idle", mode="interactive")


def _parsed(call: dict[str, Any]) -> Any:
    """The arguments, or None where the real CLI would tell the model itself that they are none."""
    try:
        value = json.loads(call["arguments"] or "{}")
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def replay(recording: Path) -> None:
    """Answer each request with what followed a request of its kind in a recorded conversation."""
    blocks: dict[str, list[list[dict[str, Any]]]] = {}
    session = ""
    for line in recording.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        message = entry["msg"]
        if entry["dir"] == "client->cli":
            blocks.setdefault(message["method"], []).append([{"request": message["id"]}])
            session = message.get("params", {}).get("sessionId") or session
            latest = blocks[message["method"]][-1]
        else:
            latest.append(message)
    while (asked := read_frame()) is not None:
        queue = blocks.get(asked["method"], [])
        recorded = queue.pop(0) if len(queue) > 1 else (queue or [[{"request": ""}, {"result": {}}]])[0]
        ours = (asked.get("params") or {}).get("sessionId") or session
        for message in recorded[1:]:
            text = json.dumps(message).replace(session, ours)
            spoken = json.loads(text)
            if "method" not in spoken:
                spoken = {**spoken, "jsonrpc": "2.0", "id": asked["id"]}
            write_frame(spoken)
        if asked["method"] not in blocks:
            write_frame({"jsonrpc": "2.0", "id": asked["id"], "result": {"success": True}})


if __name__ == "__main__":
    place = Path(sys.argv[1])
    if place.is_file():
        replay(place)
    elif "--version" in sys.argv:
        print(json.loads((place / "config.json").read_text())["version"])
    else:
        FakeCli(place).serve()
