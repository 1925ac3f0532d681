// Draws the page: what the check of the evidence came to, and the transcript that the verified records tell. All
// that is shown is made here from them; what stood in the page before is replaced.
"use strict";

const SHELL_DIGEST = "@SHELL_DIGEST@"; // of the page without evidence, key, script, style and policy
const TITLE = "Shared session";

// An element with these attributes; texts become text nodes, never markup.
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

const show = (text, how) => transcript.makeVisible(text, how);
const line = (text) => show(text, { isLine: true });
const quiet = (text) => element("p", { class: "quiet" }, line(text));
const block = (text, kind = "", how = {}) => element("pre", kind ? { class: kind } : {}, show(text, how));

function fold(summary, ...content) {
  return element("details", {}, element("summary", {}, summary), ...content);
}

// What is made only once it is opened: the records of a long session are many.
function foldLater(summary, make) {
  const made = fold(summary);
  made.addEventListener("toggle", () => made.childElementCount === 1 && made.append(make()));
  return made;
}

function drawDiff(diff) {
  const lines = show(diff).replace(/\n$/, "").split("\n");
  const kinds = { "+": "plus", "-": "minus", "@": "hunk" };
  return element("pre", { class: "diff" }, lines.flatMap((text) => {
    const kind = kinds[text[0]];
    return kind ? element("span", { class: kind }, `${text}\n`) : `${text}\n`;
  }));
}

function drawVote(vote) {
  const kind = { approve: "good", reject: "bad" }[vote.verdict] ?? "quiet";
  return element("li", {}, element("b", {}, line(vote.who)), " ", element("span", { class: `tag ${kind}` }, line(vote.verdict)), line(vote.text));
}

function drawCall(card) {
  const outcome = element("span", { class: card.isGood ? "tag good" : "tag bad" }, line(card.outcome));
  const seconds = typeof card.seconds === "number" ? ` · ${card.seconds.toFixed(1)} s` : "";
  const hint = card.args?.command ?? card.args?.path ?? "";
  // What is known stands before what a model chose, which could read like it.
  const head = [outcome, seconds, element("span", { class: "quiet" }, ` ${line(card.decision)} `), element("code", {}, line(card.tool))];
  if (typeof hint === "string" && hint) head.push(element("code", { class: "hint" }, line(hint)));
  return fold(
    element("span", {}, head),
    card.votes.length ? element("ul", { class: "votes" }, card.votes.map(drawVote)) : null,
    card.history.length ? element("ul", {}, card.history.map((text) => element("li", {}, line(text)))) : null,
    quiet("Arguments:"), block(transcript.outline(card.args)),
    card.ranWith === null ? null : [quiet("It ran with:"), block(transcript.outline(card.ranWith))],
    card.diff === null ? null : drawDiff(card.diff),
    card.output === null ? null : [quiet("Output:"), block(card.output, "", { isOutput: true })],
  );
}

function drawEntry(entry) {
  switch (entry.kind) {
    case "turn":
      return [
        element("h2", entry.takenBack ? { class: "back" } : {}, `Turn ${entry.number} · ${entry.at}${entry.takenBack ? " · taken back later" : ""}`),
        entry.prompt ? block(entry.prompt, "prompt") : quiet("It continues the previous turn."),
      ];
    case "said":
      return [quiet(entry.model), block(entry.text, "said")];
    case "thought":
      return [fold("Reasoning", block(entry.text))];
    case "call":
      return [drawCall(entry)];
    default:
      return [entry.body ? fold(element("span", { class: "quiet" }, line(entry.line)), block(entry.body, "", entry)) : quiet(`· ${entry.line}`)];
  }
}

function drawCommands(commands) {
  if (!commands.length) return null;
  const rows = commands.map((command) => element(
    "li", {}, element("span", { class: command.isGood ? "tag good" : "tag bad" }, line(command.ending)),
    element("span", { class: "quiet" }, ` ${command.at} `), element("code", {}, line(command.text)),
  ));
  return fold(`Commands and how they ended (${commands.length})`, element("ol", {}, rows));
}

function drawRecords(found) {
  const draw = (record) => fold(
    `${record.seq} · ${line(record.type)} · ${transcript.formatTime(record.at_ms)}${record.redaction === null ? "" : " · something was taken out"}`,
    block(record.payload), quiet(`link ${record.link}`),
  );
  return foldLater(`All records as they are signed (${found.records.length})`, () => element("div", {}, found.records.map(draw)));
}

function drawSession({ found }) {
  const told = transcript.tell(found);
  document.title = line(told.title);
  return [
    element("h1", {}, line(told.title)),
    element("dl", {}, told.facts.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, line(value))])),
    drawCommands(told.commands),
    element("section", {}, told.entries.flatMap(drawEntry)),
    drawRecords(found),
  ];
}

// The verdict at the top. `kind` is good, fair or bad, and `id` says it to programs.
function drawVerdict(kind, head, lines, ...more) {
  const mark = { good: "✔", fair: "◐", bad: "✘" }[kind];
  return element(
    "header", { id: "verdict", class: kind, "data-verdict": kind },
    element("p", { class: "head" }, `${mark} ${head}`),
    lines.length ? fold("What was checked", element("ul", {}, lines.map((text) => element("li", {}, line(text))))) : null,
    ...more,
  );
}

function drawNotesForm(check) {
  const area = element("textarea", { id: "notes", rows: "3", spellcheck: "false", autocomplete: "off", "aria-label": "Check code or anchors" });
  const button = element("button", { type: "button" }, "Compare");
  button.addEventListener("click", () => check(area.value));
  return fold(
    "Compare with a check code",
    quiet("Paste what the sender gave you on another way: the check code, or anchors, one a line. It never leaves this page."),
    area, button,
  );
}

function describe(result) {
  const { found, redacted, isSignatureChecked, key, head } = result;
  return [
    isSignatureChecked
      ? `The signature over all of it is that of the key ${key}.`
      : "The signature was NOT checked: this browser knows no Ed25519. A newer one does.",
    `Each of the ${found.records.length} records fits the one before it; the last link is ${head}.`,
    redacted.length
      ? `Something was taken out on purpose, and what stands there instead is the word of the signer, of the records ${redacted.join(", ")}.`
      : "Nothing was taken out of any record.",
    `Everything below is made in this page from these records, as they were signed ${transcript.formatTime(found.exported_ms)}.`,
  ];
}

function explainFailure(error) {
  if (error instanceof verifier.TooNew) {
    return ["bad", "NOT CHECKED", `It was written by a newer quorum: ${error.message}. Its verify_audit_export.py can check this file.`];
  }
  if (error instanceof verifier.NotAble) {
    return ["bad", "NOT CHECKED", `${error.message}. Save the file and open it in a current browser, or check it with verify_audit_export.py.`];
  }
  if (error instanceof verifier.Unsound) {
    return ["bad", "DOES NOT HOLD", `${error.message}. Nothing of it is shown.`];
  }
  return ["bad", "NOT CHECKED", `The check itself failed: ${error}. Nothing is shown.`];
}

function draw(result, notes, wrong = "") {
  const compared = verifier.compareNotes(result, notes);
  const namesKey = notes.some((note) => note.key === result.key);
  const isGood = compared > 0 && result.isSignatureChecked && namesKey;
  const open = [];
  if (!result.isSignatureChecked) open.push("This browser could not check the signature.");
  if (!compared) open.push("Whether its end is missing, and whose key it is, only a check code shows that came to you on another way.");
  else if (!namesKey) open.push("Whose key signed it, only a check code shows that came to you on another way.");
  const head = isGood ? "Unchanged, complete, and signed with the key you were told" : "Unchanged since it was signed with the key it names";
  document.body.replaceChildren(
    drawVerdict(
      isGood ? "good" : "fair",
      result.isSignatureChecked ? head : "Its records fit together",
      describe(result),
      ...open.map((text) => quiet(text)),
      wrong ? element("p", { class: "wrong" }, line(wrong)) : null,
      isGood ? null : drawNotesForm((text) => compareWith(result, text)),
    ),
    element("main", {}, drawSession(result)),
  );
}

function fail(error) {
  const [kind, head, text] = explainFailure(error);
  document.title = `${head}: ${TITLE}`;
  document.body.replaceChildren(drawVerdict(kind, head, [], element("p", {}, line(text))));
}

// Draw the page as it stands with what was noted elsewhere; what is no note is said, and counts for nothing.
function compareWith(result, text) {
  try {
    draw(result, verifier.readNotes(text));
  } catch (error) {
    if (error instanceof SyntaxError) draw(result, [], error.message);
    else fail(error);
  }
}

const toBase64 = (bytes) => btoa(String.fromCharCode(...bytes));

// The page as it was parsed: its script, style and policy, and the shell that is left without these and the evidence.
function readShell() {
  const [script, style, policy] = ["body > script:not([id])", "head > style", "head > meta[http-equiv]"].map((place) => document.querySelector(place));
  const shell = document.documentElement.cloneNode(true);
  shell.querySelector("head > meta[http-equiv]")?.setAttribute("content", "");
  shell.querySelector("#evidence")?.setAttribute("data-key", "");
  for (const part of shell.querySelectorAll("head > style, body > script")) part.textContent = "";
  return {
    script: script?.textContent ?? "",
    style: style?.textContent ?? "",
    policy: policy?.content,
    shell: `${document.compatMode} ${document.characterSet} ${shell.outerHTML}`,
  };
}

// That the page around the evidence is the one that was written: the policy allows this script and this style
// alone, and nothing else stands in it.
async function checkShell({ script, style, policy, shell }) {
  const digest = async (text) => `'sha256-${toBase64(await verifier.hash(new TextEncoder().encode(text)))}'`;
  const expected = `default-src 'none'; script-src ${await digest(script)}; style-src ${await digest(style)}; ` +
    "base-uri 'none'; form-action 'none'";
  if (policy !== expected || !document.styleSheets.length || (await digest(shell)) !== `'sha256-${SHELL_DIGEST}'`) {
    throw new verifier.Unsound("The page around the evidence was changed, by somebody or by an extension of this browser");
  }
}

async function main() {
  try {
    const shell = readShell();
    const { textContent: evidence, dataset } = document.getElementById("evidence");
    document.body.replaceChildren(element("p", {}, "Checking the evidence…"));
    if (!globalThis.crypto?.subtle) throw new verifier.NotAble("This browser gives a page opened in this way no Web Crypto");
    await checkShell(shell);
    const result = await verifier.verify(evidence, dataset.key);
    const given = new URLSearchParams(location.hash.slice(1)).get("check");
    compareWith(result, given ?? "");
  } catch (error) {
    fail(error);
  }
}

if (typeof document !== "undefined") document.addEventListener("DOMContentLoaded", main);
