// Tells what happened in a session from the verified records alone: turns, answers, calls with votes, diffs and
// outcomes. No text is markup here, and what could hide in one is made visible.
"use strict";

const transcript = (() => {
  const DECISIONS = {
    allowed: "allowed without asking a person",
    approved: "approved by a person",
    edited: "edited and approved by a person",
    rejected: "rejected by a person",
    denied: "denied by a rule or the mode",
    needs_approval: "withheld: nobody was there to approve it",
    none: "nothing was decided about it",
  };
  const OUTCOMES = { not_run: "not run", unknown: "unknown: the process ended while it ran" };
  const SEQUENCE = new RegExp(
    "(?:\\x1b\\[|\\x9b)[0-?]*[ -/]*[@-~]" +
      "|(?:\\x1b[\\]PX^_]|[\\x9d\\x90\\x98\\x9e\\x9f])[^\\x07\\x1b\\x9c\\n\\x90\\x98\\x9d-\\x9f]*(?:\\x07|\\x1b\\\\|\\x9c)" +
      "|\\x1b[ -/]+[0-~]|\\x1b[0-Z\\\\^-~]",
    "g",
  );
  // Controls, what turns or joins text, what is blank and no blank, halves of pairs, and what is assigned to nothing.
  const HIDING = new RegExp(
    "[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Co}\\p{Cn}\\p{Zl}\\p{Zp}" +
      "\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180d\\u180f\\u2800\\u3164\\ufe00-\\ufe0f\\uffa0" +
      "\\u{13441}\\u{13442}\\u{16fe4}\\u{1d159}\\u{e0100}-\\u{e01ef}]",
    "gu",
  );
  const MARKS = /(\p{Mn}{4})(\p{Mn}+)/gu;
  const EMOJI = /\p{Extended_Pictographic}|\ufe0f/u;

  // The text with every character that could act or hide replaced by a visible stand-in.
  function makeVisible(text, { isOutput = false, isLine = false } = {}) {
    let shown = String(text);
    if (isOutput) shown = shown.replace(SEQUENCE, "");
    shown = shown.replaceAll("\r\n", "\n");
    if (isOutput) shown = shown.replaceAll("\r", "\n");
    if (isLine) shown = shown.replaceAll("\n", "⏎");
    return shown.replace(HIDING, showHiding).replace(MARKS, (_, kept, more) => `${kept}⟨${Array.from(more).length} more marks⟩`);
  }

  function showHiding(char, at, whole) {
    const code = char.codePointAt(0);
    if (char === "\n" || char === "\t" || (code >= 0x1f300 && code <= 0x1faff)) return char;
    if (char === "\u200d" || char === "\ufe0e" || char === "\ufe0f") {
      // No letters: a joiner or a selector behind one makes another name that looks the same.
      const before = Array.from(whole.slice(Math.max(0, at - 2), at)).at(-1) ?? "";
      const after = whole.codePointAt(at + 1) === undefined ? "" : String.fromCodePoint(whole.codePointAt(at + 1));
      const isKeycap = /[#*0-9]/.test(before) && after === "\u20e3";
      if (EMOJI.test(before) && !/[#*0-9]/.test(before) && (char !== "\u200d" || EMOJI.test(after))) return char;
      if (isKeycap && char !== "\u200d") return char;
    }
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    if (code === 0x7f) return "␡";
    return code < 0xa0 ? `\\x${code.toString(16)}` : `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  }

  // A value of JSON as indented lines that can be read, texts of several lines included.
  function outline(value, indent = "") {
    if (value === null || typeof value !== "object") return String(value).replaceAll("\n", `\n${indent}`);
    const entries = Array.isArray(value) ? value.map((each) => ["-", each]) : Object.entries(value).map(([name, each]) => [`${name}:`, each]);
    if (!entries.length) return Array.isArray(value) ? "(none)" : "(empty)";
    return entries.map(([name, each]) => {
      const isNested = each !== null && typeof each === "object" && Object.keys(each).length > 0;
      const isLong = typeof each === "string" && each.includes("\n");
      return `${name}${isNested || isLong ? `\n${indent}  ` : " "}${outline(each, `${indent}  `)}`;
    }).join(`\n${indent}`);
  }

  const formatTime = (ms) => {
    const at = new Date(ms);
    return Number.isNaN(at.getTime()) ? "at an impossible time" : at.toISOString().replace("T", " ").replace(/\.\d+Z$/, " UTC");
  };

  const list = (value) => (Array.isArray(value) ? value : []);

  // How the command ended whose result this is, where it ran to its end. That stands behind all that it printed,
  // which may hold such lines, too.
  function findEnding(outcome, output) {
    const ends = outcome === "ok" ? [...String(output).matchAll(/^(?:exit code \d+|killed by .+)$/gm)] : [];
    return ends.at(-1)?.[0] ?? null;
  }

  class Narration {
    constructor(found) {
      this.entries = [];
      this.commands = [];
      this.cards = new Map();
      this.jobs = new Map();
      this.turns = [];
      this.prompt = null;
      this.title = null;
      this.spent = { input: 0, output: 0, cost: 0, unpriced: false };
      this.facts = [["Session", found.session]];
      for (const record of found.records) this.read(record);
      this.facts.push(["Turns", String(this.turns.length)], ["Records", String(found.records.length)]);
      const { input, output, cost, unpriced } = this.spent;
      this.facts.push(["Tokens", `${input.toLocaleString("en")} in, ${output.toLocaleString("en")} out`]);
      if (cost) this.facts.push(["Cost", `${unpriced ? "at least " : ""}$${cost.toFixed(4)}`]);
    }

    read(record) {
      this.record = record;
      let event = null;
      try {
        event = JSON.parse(record.payload);
      } catch {
        return this.remark(`record ${record.seq} cannot be understood`, record.payload);
      }
      if (record.redaction !== null) this.remark(`something was taken out of record ${record.seq}`);
      const tell = Object.hasOwn(TOLD, event.type) ? TOLD[event.type] : TOLD.other;
      try {
        tell(this, event);
      } catch (error) {
        if (!(error instanceof TypeError)) throw error;
        TOLD.other(this, event); // not built as this version knows it
      }
    }

    add(entry) {
      this.entries.push({ seq: this.record.seq, at: formatTime(this.record.at_ms), ...entry });
      return this.entries.at(-1);
    }

    remark(line, body = "", more = {}) {
      this.add({ kind: "remark", line, body, ...more });
    }

    command(text, ending, isGood) {
      this.commands.push({ seq: this.record.seq, at: formatTime(this.record.at_ms), text, ending, isGood });
    }

    openCard(id, tool, args) {
      const card = this.add({
        kind: "call", tool, args, ranWith: null, diff: null, decision: "nothing is recorded about it",
        outcome: "no recorded end", seconds: null, output: null, history: [], votes: [], people: false,
      });
      this.cards.set(id, card);
      return card;
    }

    card(context, tool = "a call", args = {}) {
      return this.cards.get(context.call_id) ?? this.openCard(context.call_id, tool, args);
    }
  }

  const tellCall = (line) => (told, event) => void told.card(event.context).history.push(line(event));

  function nameReviewer(vote, name) {
    return `${name}${vote.lens ? ` (${vote.lens})` : ""}${vote.program ? ` through ${vote.program}` : ""}`;
  }

  function describeVote(event) {
    const sure = typeof event.confidence === "number" ? ` (${Math.round(event.confidence * 100)} % sure)` : "";
    const objections = list(event.objections).map((each) => `; it objects (${each.severity}): ${each.claim}`).join("");
    const scope = event.in_scope === "no" || event.in_scope === "unclear" ? `, in scope: ${event.in_scope}` : "";
    return `${sure}${scope}: ${event.reason || "no reason given"}${event.objection ? `; it objects to: ${event.objection}` : ""}${objections}`;
  }

  const describeChange = (change) =>
    `${change.kind} ${change.path}${change.declared === false ? ", which it had not declared" : ""}${change.late ? ", found late" : ""}`;

  const amount = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

  const nameSome = (names, most) =>
    names.slice(0, most).join(", ") + (names.length > most ? ` and ${(names.length - most).toLocaleString("en")} more` : "");

  // Each text on one line of its own.
  const listLines = (texts) => texts.map((text) => makeVisible(text, { isLine: true })).join("\n");

  const nameChecks = (checks) => checks.map((check) => `\`${check.command}\``).join(", ");

  const describeHost = (host) => `${host.host}:${host.port}${host.refusal ? ` (refused: ${host.refusal})` : ""}`;

  // Whose signatures a call takes.
  function describeSigning(terms) {
    const demands = terms.demands.map(({ needed, people }) => `${needed === people.length ? "" : `${needed} of `}${people.join(", ") || "nobody"}`);
    const asked = [terms.requester, ...(terms.others || [])].filter(Boolean);
    const without = asked.length ? `; ${asked.join(", ")} asked for it and ${asked.length === 1 ? "does" : "do"} not count` : "";
    const unnamed = terms.unnamed ? `; ${terms.unnamed} more than the policy says, as it is not known who asked` : "";
    return `it takes the signatures of ${demands.join(" and of ")}${without}${unnamed}`;
  }

  function describeCheck(run) {
    const code = run.exit_code;
    const ending = run.outcome === "ok" && code === 0 ? "passed" : code === null ? `ended with no exit code (${run.outcome})` : `exited with ${code}`;
    return `\`${run.command}\` ${ending}${run.is_edited ? " (as the person edited it)" : ""}`;
  }

  function describeReceipt(receipt) {
    const isReached = receipt.runs.length > 0 && receipt.runs.every((run) => run.outcome === "ok" && run.exit_code === 0);
    return [
      `goal ${isReached ? "" : "not "}reached, attempt ${receipt.attempt}: ${receipt.runs.map(describeCheck).join(", ")}`,
      `${amount(receipt.changed_count, "file")} changed, tree ${receipt.tree.slice(0, 12)}`,
      ...(receipt.check_files.length ? [`changed in this goal, and a check depends on it: ${nameSome(receipt.check_files, 3)}`] : []),
      ...(receipt.written.length ? [`changed by the checks themselves: ${nameSome(receipt.written, 3)}`] : []),
      ...(receipt.is_complete ? [] : ["not every file could be looked at"]),
    ].join("; ");
  }

  const listReceipt = (receipt) => listLines([
    `${receipt.tree} tree`,
    ...receipt.runs.map((run) => `${run.output_sha256} output of ${run.command}`),
    ...receipt.changed.map((file) => `${file.sha256 ?? "-"} ${file.kind} ${file.path}`),
  ]);

  // A vote on the effects of a layer.
  function describeEffectsVote(vote, place) {
    const { confidence, in_scope: scope, reasoning, objection } = vote;
    const said = describeVote({ confidence, in_scope: scope, reason: reasoning, objections: vote.objections });
    const found = place === undefined ? "it objects to what stands in no file that was shown" : `in ${place} it objects to`;
    return `${nameReviewer(vote, vote.model)} ${vote.verdict}${said}${objection ? `; ${found}: ${objection}` : ""}`;
  }

  const describeEffect = (effect) =>
    `${effect.kind}: ${effect.path}${effect.renamed_from ? ` from ${effect.renamed_from}` : ""} (+${effect.added} −${effect.removed}${effect.after?.sha256 ? `, sha256 ${effect.after.sha256}` : ""})`;

  // What became of the effects of a layer.
  function describeEffectsEnd({ decision, layer, files, refs, refused, words }) {
    const done = [...(files || !refs ? [amount(files, "file")] : []), ...(refs ? [amount(refs, "ref")] : [])].join(" and ");
    const why = Object.entries(refused).map(([path, reason]) => `${path}: ${reason}`);
    return {
      applied: `${done} applied from the layer ${layer} to the folder`,
      refused: `nothing was applied from the layer ${layer}: ${nameSome(why, 8)}`,
      rejected: `nothing was applied from the layer ${layer}, the person sent it back${words ? `: ${words}` : ""}`,
      discarded: `all changes of the layer ${layer} were discarded`,
      undone: `${done} applied from the layer ${layer} taken back out of the folder`,
    }[decision] ?? `the effects of the layer ${layer}: ${decision}`;
  }

  const SILENT = () => {};

  // By the type of the event, how it is told. `other` tells any type that has no sentence of its own.
  const TOLD = {
    session_started(told, event) {
      told.facts.push(["Folder", event.cwd], ["Model", event.model], ["Mode at the start", event.mode], ["Began", formatTime(told.record.at_ms)]);
    },
    session_resumed(told, event) {
      told.remark(`resumed with ${event.model} in the mode ${event.mode}`, list(event.told).join("\n"));
    },
    session_finished: (told) => told.remark("the session was closed"),
    turn_started(told, event) {
      told.prompt = event.prompt || told.prompt;
      told.turns.push(told.add({ kind: "turn", number: told.turns.length + 1, prompt: event.prompt, takenBack: false }));
    },
    turn_finished(told, { report }) {
      if (report.status !== "completed") told.remark(`the turn ended: ${report.status}`, report.error ?? report.stop_reason ?? "");
    },
    message_added(told, event) {
      const { message } = event;
      if (message.type === "tool_results") {
        for (const result of message.results) {
          const card = told.cards.get(result.tool_use_id);
          if (card && card.output === null) Object.assign(card, { output: result.output, outcome: "no recorded end; the model read of it" });
        }
        return;
      }
      if (message.type !== "user") return TOLD.other(told, event);
      if (event.command_id === null || event.command_id === undefined) {
        if (event.is_notice) told.remark("said to the model by quorum:", message.text);
        else if (event.steers) told.remark("said into the running turn:", message.text);
        else if (message.text !== told.prompt) told.remark("said to the model by the program or a hook:", message.text);
        told.prompt = null;
      }
      for (const file of list(message.files)) told.remark(`attached: ${file.name}`, file.content || file.note || "");
      for (const image of [...list(message.images), ...list(message.documents)]) {
        told.remark(`attached: ${image.name} (${image.media_type}, ${image.size_bytes} bytes, sha256 ${image.sha256}); its content is not in this file`);
      }
    },
    response_completed(told, { response, is_notice }) {
      told.prompt = null;
      if (is_notice) {
        told.remark("said to the model by quorum:", response.content.map((block) => block.text ?? "").join(""));
        return;
      }
      for (const block of response.content) {
        if (block.type === "text" && block.text.trim()) told.add({ kind: "said", model: response.model, text: block.text });
        else if (block.type === "reasoning" && block.text?.trim()) told.add({ kind: "thought", text: block.text });
        else if (block.type === "tool_use") told.openCard(block.id, block.name, block.input);
        else if (block.type === "opaque") told.remark(`a block of ${block.provider}'s own kind, kept but not read`);
      }
      if (!["end_turn", "tool_use"].includes(response.stop_reason)) told.remark(`the answer stopped there: ${response.stop_reason}`);
    },
    batch_planned(told, event) {
      for (const lane of event.lanes) {
        if (!told.cards.has(lane.context.call_id)) told.openCard(lane.context.call_id, lane.tool, lane.arguments);
      }
    },
    call_started(told, event) {
      const card = told.card(event.context, event.tool, event.arguments);
      card.diff = event.diff ?? card.diff;
      if (JSON.stringify(event.arguments) !== JSON.stringify(card.args)) card.ranWith = event.arguments;
    },
    call_finished(told, event) {
      const card = told.card(event.context, event.tool);
      card.outcome = OUTCOMES[event.outcome] ?? event.outcome;
      if (event.decision !== "none" || card.decision.startsWith("nothing")) card.decision = DECISIONS[event.decision] ?? event.decision;
      card.isGood = event.outcome === "ok";
      Object.assign(card, { output: event.output, seconds: event.duration_secs });
      for (const host of list(event.hosts)) card.history.push(`it asked for the host ${describeHost(host)}`);
      const { command } = card.ranWith ?? card.args;
      if (typeof command !== "string" || event.tool !== "run_command" || !["ok", "error"].includes(event.outcome)) return;
      const ending = findEnding(event.outcome, event.output);
      card.isGood = ending === "exit code 0";
      card.outcome = ending ?? card.outcome;
      if (!card.isJob) told.command(command, card.outcome, card.isGood);
    },
    review_requested(told, event) {
      const card = told.card(event.context, event.packet.tool, event.packet.arguments);
      card.diff = event.packet.diff ?? card.diff;
      card.decision = "put to review, and no answer is recorded";
      const signing = event.signing ? `; ${describeSigning(event.signing)}` : "";
      card.history.push(`put to review: ${list(event.reasons).join("; ") || "no reason given"}${signing} (packet sha256 ${event.digest})`);
    },
    review_decided(told, event) {
      const card = told.card(event.context);
      card.decision = DECISIONS[event.decision] ?? event.decision;
      card.history.push(`${card.decision}${event.reason ? `: ${event.reason}` : ""} (packet sha256 ${event.digest})`);
      for (const each of list(event.signatures)) {
        card.history.push(`${each.person} signed it, by their own clock ${formatTime(each.at_ms)}; this page does not check that signature`);
      }
    },
    vote_cast(told, event) {
      told.card(event.context).votes.push({ who: nameReviewer(event, event.reviewer), verdict: event.verdict, text: describeVote(event) });
    },
    quorum_result(told, event) {
      const votes = event.votes.map((vote) => `${vote.model} ${vote.verdict}${vote.counts_as && vote.counts_as !== vote.verdict ? `, counted as ${vote.counts_as}` : ""}`);
      const line = `the models, by ${event.rule ? `the rule ${event.rule}` : "the first vote"}: ${event.verdict} (${votes.join(", ") || "no votes"}; packet sha256 ${event.digest})`;
      if (event.context) told.card(event.context).history.push(line);
      else told.remark(line);
    },
    effects_observed(told, event) {
      const lines = event.effects.changes.map(describeChange);
      told.card(event.context).history.push(...lines, ...(event.effects.complete ? [] : ["not every change of files could be seen"]));
    },
    files_kept: tellCall((event) => `${event.files} files kept as before it${event.complete ? "" : "; not every file was seen"}`),
    output_stored: tellCall((event) => `its whole output, ${event.size_bytes} bytes, was stored as ${event.blob_id}; the model read a summary`),
    plan_review_started: tellCall((event) => `round ${event.round} of its review by models (plan sha256 ${event.plan_digest})`),
    subagent_started: tellCall((event) => `given to ${event.agent ? `the subagent ${event.agent}` : "a subagent"} with ${event.model}, whose session is ${event.subagent_id}`),
    subagent_finished: tellCall((event) => `the subagent ended: ${event.outcome.status}${event.outcome.error ? `: ${event.outcome.error}` : ""}`),
    hook_ran(told, event) {
      const line = `hook ${event.hook} at ${event.point} answered ${event.answer}${event.reason ? `: ${event.reason}` : ""}${event.edited ? "; it changed what it was given" : ""}`;
      if (event.context) told.card(event.context).history.push(line);
      else told.remark(line);
    },
    own_command_started(told, event) {
      told.remark(`the person ran a command of their own${event.told ? "" : ", kept from the model"}:`, event.command);
      told.own = event.command;
    },
    own_command_finished(told, event) {
      const ending = event.exit_code === null ? OUTCOMES[event.outcome] ?? event.outcome : `exit code ${event.exit_code}`;
      told.remark(`their command ended: ${ending}`, event.output, { isOutput: true });
      told.command(told.own ?? "a command of the person's", ending, event.exit_code === 0);
    },
    job_started(told, event) {
      const kind = event.subagent_id ? "subagent" : "command";
      told.remark(`the background ${kind} ${event.job_id} began:`, event.command);
      told.jobs.set(event.job_id, { kind, command: event.command });
      if (kind === "command") told.card(event.context).isJob = true; // it ends as a job, later than the call
    },
    job_ended(told, event) {
      const { kind, command } = told.jobs.get(event.job_id) ?? { kind: "command", command: event.job_id };
      const ending = event.exit_code === null || event.status === "stopped" ? event.status.replaceAll("_", " ") : `exit code ${event.exit_code}`;
      const hosts = list(event.hosts).length ? `; hosts that it asked for: ${event.hosts.map(describeHost).join(", ")}` : "";
      told.remark(`the background ${kind} ${event.job_id} ended: ${ending}${hosts}`, event.output ?? "", { isOutput: kind === "command" });
      if (kind === "command") told.command(command, ending, event.exit_code === 0);
    },
    goal_set: (told, event) => told.remark(`goal: ${event.text} (${event.checks.length ? `checks: ${nameChecks(event.checks)}` : "the model proposes the checks"})`),
    checks_approved(told, event) {
      const line = `the person approved as checks of the goal: ${nameChecks(event.checks) || "none"}`;
      if (event.context) told.card(event.context).history.push(line);
      else told.remark(line);
    },
    goal_checked: (told, { receipt }) => told.remark(describeReceipt(receipt), listReceipt(receipt)),
    goal_receipt_outdated: (told, event) => told.remark(`the receipt of the goal is stale: changed since its checks ran: ${nameSome(event.files, 3)}`),
    goal_dropped: (told) => told.remark("the goal is off"),
    outdated_tests_claimed: (told, event) =>
      told.remark(`the last test run (\`${event.command}\`, exit code ${event.exit_code}) predates the last edit (${nameSome(event.files, 3)})`),
    layer_entered(told, event) {
      told.remark([`from here on what changes goes to the layer ${event.layer}, until the person reviews it`, ...event.notices].join("; "));
    },
    layer_waits(told, event) {
      const changed = event.files ? [`${amount(event.files, "changed file")} (+${event.added} −${event.removed})`] : [];
      if (event.commits) changed.push(amount(event.commits, "commit"));
      if (!changed.length && !event.unmerged) changed.push("moved refs");
      const waits = event.files + event.commits === 1 ? "waits" : "wait";
      const held = changed.length ? [`${changed.join(" and ")} ${waits} in the layer ${event.layer}`] : [];
      if (event.conflicts) held.push(`${event.conflicts} in conflict with the person's`);
      if (event.unmerged) held.push(`what ${amount(event.unmerged, "subagent")} changed is not merged`);
      told.remark(`${held.join("; ")} (sha256 ${event.digest})`);
    },
    effects_voted(told, { votes }) {
      const unshown = votes.unshown ? `; the content of ${amount(votes.unshown, "file")} was not shown` : "";
      const each = votes.votes.map((vote) => describeEffectsVote(vote, votes.quoted[vote.model]));
      told.remark(`the models on the effects ${votes.digest.slice(0, 12)}: ${votes.count}${unshown}`, listLines(each));
    },
    effects_approved(told, event) {
      const folded = Object.entries(event.folded);
      const files = event.effects.length + folded.reduce((sum, [, count]) => sum + count, 0);
      const parts = [
        `the person approved the effects ${event.digest.slice(0, 12)} (${amount(files, "file")}${event.commits.length ? `, ${amount(event.commits.length, "ref")}` : ""})`,
        ...(event.left_out.length ? [`left out: ${nameSome(event.left_out, 8)}`] : []),
        ...(Object.keys(event.hunks).length ? [`parts left out of ${nameSome(Object.keys(event.hunks), 8)}`] : []),
        ...(event.overwritten.length ? [`in place of changes of the person's own: ${nameSome(event.overwritten, 8)}`] : []),
      ];
      told.remark(parts.join("; "), listLines([
        ...event.effects.map(describeEffect),
        ...folded.map(([folder, count]) => `${folder}: ${amount(count, "file")}`),
        ...event.commits.map((commit) => `${commit.ref}: ${commit.before} → ${commit.after}`),
      ]));
    },
    effects_reviewed: (told, event) => told.remark(describeEffectsEnd(event)),
    session_rewound(told, event) {
      if (event.conversation) for (const turn of told.turns.slice(Math.max(event.turn, 0))) turn.takenBack = true;
      const what = [event.conversation && "the conversation", event.files && "the files"].filter(Boolean).join(" and ") || "nothing";
      told.remark(`taken back: ${what} from turn ${event.turn + 1} on`);
    },
    session_redone(told, event) {
      for (const number of event.turns) if (told.turns[number]) told.turns[number].takenBack = false;
      told.remark("the last undo was redone");
    },
    files_restored(told, event) {
      told.remark(`${event.changes.length} files given back as before:`, event.changes.map(describeChange).join("\n"));
    },
    error_occurred: (told, event) => told.remark(`error: ${event.message}`),
    notice_given: (told, event) => told.remark(event.message),
    mode_changed: (told, event) => told.remark(`the mode is ${event.mode} from here on`),
    model_changed: (told, event) => told.remark(`the model is ${event.model} from here on`),
    sandbox_checked: (told, event) => told.remark(event.told),
    usage_counted(told, event) {
      const { usage, cost_usd: cost } = event;
      told.spent.input += usage.input + (usage.cache_read ?? 0) + (usage.cache_write ?? 0);
      told.spent.output += usage.output;
      told.spent.cost += Number(cost ?? 0);
      if (cost === null || cost === undefined) told.spent.unpriced = true;
    },
    session_renamed(told, event) {
      told.title = event.title;
      told.remark(`the session is called: ${event.title}`);
    },
    prompts_queued: SILENT,
    state_merged: SILENT,
    panel_answered: (told, { answer }) => told.add({ kind: "said", model: `${answer.label}: ${answer.model}`, text: answer.text || answer.error || "" }),
    other(told, { type, v, link_format: format, ...rest }) {
      told.remark(String(type ?? "an event without a type").replaceAll("_", " "), Object.keys(rest).length ? outline(rest) : "");
    },
  };

  function tell(found) {
    const { entries, commands, facts, title } = new Narration(found);
    const first = entries.find((entry) => entry.kind === "turn" && entry.prompt);
    const named = title ?? first?.prompt.trim().split("\n")[0] ?? "A session without a prompt";
    return { title: Array.from(named).slice(0, 200).join(""), facts, entries, commands };
  }

  return { tell, makeVisible, outline, formatTime };
})();
