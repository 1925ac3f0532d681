// What the page adds to Textual's terminal: it loses no key while the terminal opens and connects, and it says what can
// be done once the connection has ended.
"use strict";

// Keys that come before the terminal has the focus, as a terminal sends them.
const KEYS = { Enter: "\r", Backspace: "\x7f", Tab: "\t", Escape: "\x1b" };
const PROBE_MS = 5000;
let early = "";
let connection = null;

function keepKey(event) {
  const text = event.key.length === 1 ? event.key : KEYS[event.key];
  if (text === undefined || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  event.preventDefault();
  early += text;
}

function keepPaste(event) {
  const text = event.clipboardData.getData("text").replace(/\r?\n/g, "\r").replaceAll("\x1b", "");
  early += `\x1b[200~${text}\x1b[201~`;
  event.preventDefault();
}

document.addEventListener("keydown", keepKey, true);
document.addEventListener("paste", keepPaste, true);

// A socket that keeps what is sent while it connects: the browser's own one throws there.
class PatientSocket extends WebSocket {
  #waiting = [];

  constructor(...options) {
    super(...options);
    connection = this;
    this.addEventListener("open", () => {
      for (const data of this.#waiting.splice(0)) super.send(data);
    });
    this.addEventListener("close", findServer);
  }

  send(data) {
    if (this.readyState === WebSocket.CONNECTING) this.#waiting.push(data);
    else super.send(data);
  }
}
window.WebSocket = PatientSocket;

// A session can be continued here only where the server answers. One that is started again has another address.
async function findServer() {
  let answers = false;
  try {
    answers = (await fetch("/static/terminal.css", { cache: "no-store" })).ok;
  } catch {
    setTimeout(findServer, PROBE_MS);
  }
  document.body.classList.toggle("-reachable", answers);
  document.body.classList.toggle("-unreachable", !answers);
}

// Textual opens the terminal in its `onload`. That waits for the font, because the letters are measured then: with those
// of another font it would have lines below the end of the page.
const openTerminal = window.onload;
window.onload = async (event) => {
  await document.fonts.load('15px "Roboto Mono"').catch(() => {}); // without it the next font of the list counts
  openTerminal(event);
  const keys = document.querySelector(".xterm-helper-textarea");
  if (keys) keys.focus(); // so that keys reach it without a click
  document.removeEventListener("keydown", keepKey, true);
  document.removeEventListener("paste", keepPaste, true);
  if (early && connection) connection.send(JSON.stringify(["stdin", early]));
};
