// Checks a signed export of a session by the rules of verify_audit_export.py: the signature, the chain of the
// records, the chain of redactions, and what was noted of the session elsewhere. Needs Web Crypto and no page.
"use strict";

const verifier = (() => {
  const FORMAT = "quorum audit export 1";
  const NEWER_FORMAT = /^quorum audit export [1-9][0-9]{0,8}$/;
  const NEWEST_LINK = 3;
  const CONTENT_TYPE = "application/vnd.quorum.audit+json";
  const NO_LINK = "00".repeat(32);
  const AT_ONCE = 256; // records whose hashes are computed side by side
  const FIXED = new Set(["outcome", "decision", "is_error", "is_rejected"]);
  const FREE = new Set(["arguments", "input", "payload", "changed", "edited", "target", "environment"]);
  const SESSION = /^[0-9A-Za-z._-]{1,100}$/;

  // Something in the export does not hold.
  class Unsound extends Error {}
  // Nothing is wrong with what can be checked, and some of it is in a format of a newer quorum.
  class TooNew extends Error {}
  // This browser has no Web Crypto, or not here.
  class NotAble extends Error {}

  const encoder = new TextEncoder();
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

  const toHex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

  function fromHex(text) {
    if (typeof text !== "string" || !/^([0-9a-f]{2})*$/.test(text)) throw new Unsound("a hash in it is none");
    return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
  }

  // Base64 of which there is one form alone: no blanks, no bits left over.
  function fromBase64(text) {
    let binary = null;
    try {
      binary = atob(text);
    } catch {
      throw new Unsound("it is not base64");
    }
    if (btoa(binary) !== text) throw new Unsound("it is not base64 in its one form");
    const bytes = new Uint8Array(binary.length);
    for (let place = 0; place < binary.length; place += 1) bytes[place] = binary.charCodeAt(place);
    return bytes;
  }

  function join(pieces) {
    const whole = new Uint8Array(pieces.reduce((size, piece) => size + piece.length, 0));
    let at = 0;
    for (const piece of pieces) {
      whole.set(piece, at);
      at += piece.length;
    }
    return whole;
  }

  async function hash(bytes) {
    return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  }

  // Each field with its length before it: no two lists of fields have the same bytes.
  async function hashFields(...fields) {
    const pieces = [];
    for (const field of fields) {
      const bytes = typeof field === "string" ? encoder.encode(field) : field;
      const size = new Uint8Array(8);
      new DataView(size.buffer).setBigUint64(0, BigInt(bytes.length));
      pieces.push(size, bytes);
    }
    return toHex(await hash(join(pieces)));
  }

  // JSON as Python reads it: names in their order, also those like numbers, and numbers as they are written.

  class JsonNumber {
    constructor(text) {
      this.text = text;
    }
  }

  const WORDS = [
    ["true", true], ["false", false], ["null", null],
    ["NaN", new JsonNumber("NaN")], ["Infinity", new JsonNumber("Infinity")], ["-Infinity", new JsonNumber("-Infinity")],
  ];
  const BLANKS = /[ \t\n\r]*/y;
  const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?/y;

  function parseJson(text) {
    let at = 0;

    function fail() {
      throw new SyntaxError(`no JSON at ${at}`);
    }

    function skip(what) {
      what.lastIndex = at;
      const found = what.exec(text);
      if (found) at = what.lastIndex;
      return found ? found[0] : null;
    }

    function next(char) {
      skip(BLANKS);
      if (text[at] !== char) return false;
      at += 1;
      return true;
    }

    function readString() {
      let end = at + 1;
      while (text[end] !== '"') {
        if (end >= text.length) fail();
        end += text[end] === "\\" ? 2 : 1;
      }
      const value = JSON.parse(text.slice(at, end + 1));
      at = end + 1;
      return value;
    }

    function readObject() {
      const entries = new Map();
      if (next("}")) return entries;
      do {
        skip(BLANKS);
        if (text[at] !== '"') fail();
        const name = readString();
        if (!next(":")) fail();
        entries.set(name, readValue());
      } while (next(","));
      if (!next("}")) fail();
      return entries;
    }

    function readList() {
      const items = [];
      if (next("]")) return items;
      do items.push(readValue());
      while (next(","));
      if (!next("]")) fail();
      return items;
    }

    function readValue() {
      if (next("{")) return readObject();
      if (next("[")) return readList();
      if (text[at] === '"') return readString();
      for (const [word, value] of WORDS) {
        if (text.startsWith(word, at)) {
          at += word.length;
          return value;
        }
      }
      const number = skip(NUMBER);
      return number === null ? fail() : new JsonNumber(number);
    }

    const value = readValue();
    skip(BLANKS);
    if (at !== text.length) fail();
    return value;
  }

  function parseEvent(payload) {
    try {
      const value = parseJson(payload);
      return value instanceof Map ? value : new Map();
    } catch (error) {
      if (error instanceof SyntaxError || error instanceof RangeError) return new Map();
      throw error;
    }
  }

  const compare = (one, other) => {
    const [left, right] = [Array.from(one), Array.from(other)];
    for (let place = 0; place < Math.min(left.length, right.length); place += 1) {
      const order = left[place].codePointAt(0) - right[place].codePointAt(0);
      if (order) return order;
    }
    return left.length - right.length;
  };

  // A value as Python's json.dumps writes it: blanks after commas and colons, and only ASCII.
  function dump(value, sorts) {
    if (value === null || typeof value === "boolean") return String(value);
    if (typeof value === "string") {
      return JSON.stringify(value).replace(
        /[\u007f-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
      );
    }
    if (value instanceof JsonNumber) return dumpNumber(value.text);
    if (Array.isArray(value)) return `[${value.map((each) => dump(each, sorts)).join(", ")}]`;
    const entries = [...value];
    if (sorts) entries.sort(([one], [other]) => compare(one, other));
    return `{${entries.map(([name, each]) => `${dump(name, sorts)}: ${dump(each, sorts)}`).join(", ")}}`;
  }

  function dumpNumber(text) {
    if (/^-?[0-9]+$/.test(text)) return text === "-0" ? "0" : text;
    const number = Number(text);
    if (!Number.isFinite(number)) return Number.isNaN(number) ? "NaN" : number < 0 ? "-Infinity" : "Infinity";
    if (number === 0) return Object.is(number, -0) ? "-0.0" : "0.0";
    const [mantissa, exponent] = number.toExponential().split("e");
    const power = Number(exponent);
    if (power < -4 || power >= 16) {
      return `${mantissa}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
    }
    const sign = number < 0 ? "-" : "";
    const digits = mantissa.replace(/[-.]/g, "");
    if (power < 0) return `${sign}0.${"0".repeat(-power - 1)}${digits}`;
    const whole = digits.slice(0, power + 1).padEnd(power + 1, "0");
    return `${sign}${whole}.${digits.slice(power + 1) || "0"}`;
  }

  function fixedOfEvent(event) {
    return dump(new Map(["decision", "outcome"].filter((name) => event.has(name)).map((name) => [name, event.get(name)])), true);
  }

  function fixedOfAll(payload, event) {
    const fixed = [];
    const left = [...FIXED].some((name) => payload.includes(`"${name}"`)) ? [event] : [];
    while (left.length) {
      const value = left.pop();
      if (Array.isArray(value)) {
        for (const each of [...value].reverse()) left.push(each);
      } else if (value instanceof Map) {
        const entries = [...value];
        for (const [name, each] of entries) {
          if (FIXED.has(name) && !(each instanceof Map || Array.isArray(each))) fixed.push([name, each]);
        }
        for (const [name, each] of entries.reverse()) {
          if (!FREE.has(name)) left.push(each);
        }
      }
    }
    return dump(fixed, false);
  }

  const namedFormat = (event) => {
    const named = event.get("link_format");
    return named instanceof JsonNumber && /^-?[0-9]+$/.test(named.text) ? Number(named.text) : named ?? null;
  };

  // In which of the three formats the record's link fits it; the one that its payload names, if it does.
  async function findFormat(record, event, session, before) {
    const place = [fromHex(before), session, String(record.seq), String(record.at_ms), record.type, fromHex(record.digest)];
    const more = [null, () => [], () => [fixedOfEvent(event)], () => [fixedOfAll(record.payload, event)]];
    const named = namedFormat(event);
    for (const number of [3, 2, 1]) {
      if (named !== null && named !== number) continue;
      if ((await hashFields(`quorum ledger ${number}`, ...place, ...more[number]())) === record.link) return number;
    }
    return null;
  }

  // The payload of a COSE_Sign1 message, the one form of it, and what its signature is over.
  function readMessage(data) {
    let at = 0;

    function expect(bytes, what) {
      if (bytes.some((byte, place) => data[at + place] !== byte)) throw new Unsound(what);
      at += bytes.length;
    }

    function readBytes() {
      const kind = data[at] ?? 0;
      at += 1;
      let size = kind & 0x1f;
      if (kind >> 5 !== 2 || size > 27) throw new Unsound("its parts are not those of an export");
      if (size > 23) {
        const width = 1 << (size - 24);
        size = data.slice(at, at + width).reduce((sum, byte) => sum * 256 + byte, 0);
        at += width;
        if (width > 1 ? size < 2 ** (4 * width) : size < 24) throw new Unsound("it is not in the canonical form of CBOR");
      }
      if (at + size > data.length) throw new Unsound("its end is missing");
      at += size;
      return data.subarray(at - size, at);
    }

    expect([0xd2, 0x84], "it is not a COSE_Sign1 message");
    const headers = readBytes();
    expect([0xa0], "its parts are not those of an export");
    const payload = readBytes();
    const signature = readBytes();
    if (at !== data.length) throw new Unsound("something stands behind its end");
    return { headers, payload, signature };
  }

  function encodeBytes(bytes, kind = 2) {
    const size = bytes.length;
    const width = size < 24 ? 0 : size < 2 ** 8 ? 1 : size < 2 ** 16 ? 2 : size < 2 ** 32 ? 4 : 8;
    const head = [(kind << 5) | (width ? 24 + Math.log2(width) : size)];
    for (let place = width - 1; place >= 0; place -= 1) head.push(Math.floor(size / 256 ** place) % 256);
    return join([Uint8Array.from(head), bytes]);
  }

  const encodeText = (text) => encodeBytes(encoder.encode(text), 3);

  // Whether the signature is that of this key; null where this browser knows no Ed25519.
  async function isSigned({ headers, payload, signature }, publicKey) {
    const keyId = (await hash(publicKey)).subarray(0, 16);
    const expected = join([
      Uint8Array.from([0xa3, 1, 0x27, 3]), encodeText(CONTENT_TYPE), Uint8Array.from([4]), encodeBytes(keyId),
    ]);
    if (toHex(headers) !== toHex(expected)) throw new Unsound("its headers are not those of an export signed with its key");
    const signed = join([
      Uint8Array.from([0x84]), encodeText("Signature1"), encodeBytes(headers), encodeBytes(new Uint8Array()), encodeBytes(payload),
    ]);
    let key = null;
    try {
      key = await crypto.subtle.importKey("raw", publicKey, { name: "Ed25519" }, false, ["verify"]);
    } catch (error) {
      if (error.name === "NotSupportedError" || error.name === "SyntaxError") return null;
      throw new Unsound("its public key is none");
    }
    return crypto.subtle.verify({ name: "Ed25519" }, key, signature, signed);
  }

  // JSON of which there is one form alone: names sorted, no blanks, whole numbers.
  function writeCanonical(value) {
    if (Array.isArray(value)) return `[${value.map(writeCanonical).join(",")}]`;
    if (typeof value === "number" && !Number.isSafeInteger(value)) throw new Unsound("a number in it is not whole");
    if (value === null || typeof value !== "object") return JSON.stringify(value);
    const names = Object.keys(value).sort(compare);
    return `{${names.map((name) => `${JSON.stringify(name)}:${writeCanonical(value[name])}`).join(",")}}`;
  }

  function readExport(payload) {
    let text = null;
    let found = null;
    try {
      text = decoder.decode(payload);
      found = JSON.parse(text);
    } catch {
      throw new Unsound("its payload is not JSON");
    }
    if (writeCanonical(found) !== text || /\\ud[89a-f]/.test(text.replaceAll("\\\\", ""))) {
      throw new Unsound("its payload is not canonical JSON");
    }
    if (found?.format !== FORMAT) {
      if (NEWER_FORMAT.test(found?.format)) throw new TooNew(`its format is "${found.format}"`);
      throw new Unsound("it is no export of a session");
    }
    if (!SESSION.test(found.session)) throw new Unsound("what stands in the place of its session's id is none");
    const isCount = (value) => Number.isSafeInteger(value);
    const isRecord = (each) =>
      isCount(each?.seq) && isCount(each.at_ms) &&
      [each.type, each.payload, each.salt, each.digest, each.link].every((field) => typeof field === "string") &&
      (each.redaction === null || typeof each.redaction === "string");
    const isRedaction = (each) =>
      isCount(each?.seq) && isCount(each.at_ms) && isCount(each.record_seq) &&
      [each.record_link, each.before, each.after, each.link].every((field) => typeof field === "string");
    if (!Array.isArray(found.records) || !found.records.every(isRecord) ||
        !Array.isArray(found.redactions) || !found.redactions.every(isRedaction) || !isCount(found.exported_ms)) {
      throw new Unsound("it is not built as an export is");
    }
    return found;
  }

  // The redactions by their records, each linked to the one before it, and whether these are all.
  async function checkRedactions(found, newer) {
    let previous = NO_LINK;
    const byRecord = new Map();
    for (const [number, entry] of found.redactions.entries()) {
      const link = await hashFields(
        "quorum redactions 1", fromHex(previous), found.session, String(entry.seq), String(entry.at_ms),
        String(entry.record_seq), fromHex(entry.record_link), fromHex(entry.before), fromHex(entry.after),
      );
      if (entry.seq !== number || link !== entry.link) {
        if (newer.has(entry.record_seq)) return { byRecord, areAll: false };
        throw new Unsound(`redaction ${number} is not the one that was made, or one is missing`);
      }
      if (entry.record_seq < 0 || entry.record_seq >= found.records.length) {
        throw new Unsound(`record ${entry.record_seq} was redacted, and is missing`);
      }
      byRecord.set(entry.record_seq, [...(byRecord.get(entry.record_seq) ?? []), entry]);
      previous = entry.link;
    }
    return { byRecord, areAll: true };
  }

  function followRedactions(record, entries) {
    let led = record.digest;
    for (const entry of entries) {
      if (entry.record_link !== record.link || entry.before !== led) {
        throw new Unsound(`the redactions of record ${record.seq} do not lead to what stands there`);
      }
      led = entry.after;
    }
    return led;
  }

  // Check every record; the numbers of those from which something was taken out.
  async function checkChain(found) {
    const events = found.records.map((record) => parseEvent(record.payload));
    const newer = new Map();
    for (const [number, event] of events.entries()) {
      const named = namedFormat(event);
      if (typeof named === "number" && named > NEWEST_LINK) newer.set(number, named);
    }
    const { byRecord, areAll } = await checkRedactions(found, newer);
    const measure = async (record, number) => {
      const before = number ? found.records[number - 1].link : NO_LINK;
      return {
        format: newer.get(number) ?? (await findFormat(record, events[number], found.session, before)),
        stands: toHex(await hash(join([fromHex(record.salt), encoder.encode(record.payload)]))),
      };
    };
    const redacted = [];
    let measured = [];
    for (const [number, record] of found.records.entries()) {
      if (number % AT_ONCE === 0) {
        measured = await Promise.all(found.records.slice(number, number + AT_ONCE).map((each, place) => measure(each, number + place)));
      }
      const { format, stands } = measured[number % AT_ONCE];
      if (record.seq !== number) throw new Unsound(`record ${number} is missing`);
      if (format === null) throw new Unsound(`record ${number} is not the one that was written`);
      const now = record.redaction ?? record.digest;
      if (stands !== now) throw new Unsound(`the payload of record ${number} is not the one that was written`);
      if (record.redaction === record.digest) {
        throw new Unsound(`record ${number} is marked as redacted, and nothing was taken out of it`);
      }
      if (events[number].get("type") !== record.type) throw new Unsound(`record ${number} is of another type than its event`);
      if (newer.has(number)) continue;
      const entries = byRecord.get(number) ?? [];
      const mayBeUnrecorded = !areAll || (format === 1 && !entries.length);
      if (followRedactions(record, entries) !== now && !(record.redaction !== null && mayBeUnrecorded)) {
        throw new Unsound(`record ${number} was replaced without a recorded redaction`);
      }
      if (record.redaction !== null) redacted.push(number);
    }
    if (newer.size) throw new TooNew(`record ${[...newer.keys()][0]} is in a newer format`);
    return redacted;
  }

  // What the evidence comes to. `evidence` is base64, `publicKey` hexadecimal. Throws Unsound, TooNew and NotAble.
  async function verify(evidence, publicKey) {
    if (!globalThis.crypto?.subtle) throw new NotAble("this browser gives pages opened this way no Web Crypto");
    if (!/^[0-9a-f]{64}$/.test(publicKey)) throw new Unsound("its public key is none");
    const message = readMessage(fromBase64(evidence));
    const signed = await isSigned(message, fromHex(publicKey));
    if (signed === false) throw new Unsound("its signature does not fit: it was changed, or signed with another key");
    const found = readExport(message.payload);
    const redacted = await checkChain(found);
    return { found, redacted, isSignatureChecked: signed !== null, key: publicKey, head: findHead(found) };
  }

  const findHead = (found) => found.records.at(-1)?.link ?? NO_LINK;

  // What was noted elsewhere, one on each line: a check code (key and head), or an anchor as `quorum sessions
  // anchor` prints it. Throws SyntaxError for a line that is neither.
  function readNotes(text) {
    return text.split("\n").map((line) => line.trim()).filter(Boolean).map((line) => {
      const code = /^([0-9a-f]{64})-([0-9a-f]{64})$/.exec(line.toLowerCase());
      if (code) return { key: code[1], head: code[2] };
      let anchor = null;
      try {
        anchor = JSON.parse(line);
      } catch {
        anchor = null;
      }
      const isCount = (value) => Number.isSafeInteger(value) && value >= 0;
      if (!isCount(anchor?.records) || !isCount(anchor.redactions) ||
          ![anchor.session, anchor.head, anchor.redaction_head].every((each) => typeof each === "string")) {
        throw new SyntaxError("this is neither a check code nor an anchor; copy the whole line");
      }
      return anchor;
    });
  }

  // Compare what was verified with what was noted elsewhere; how many notes were about it. Throws Unsound.
  function compareNotes({ found, key, head }, notes) {
    let count = 0;
    for (const note of notes) {
      if (note.key !== undefined) {
        if (note.key !== key) throw new Unsound("it is signed with another key than the check code names");
        if (note.head !== head) {
          throw new Unsound("its last record is not the one that the check code names: its tail was cut, or it is another session");
        }
        count += 1;
        continue;
      }
      if (note.session !== found.session) continue;
      count += 1;
      for (const [what, link] of [["records", "head"], ["redactions", "redaction_head"]]) {
        if (found[what].length < note[what]) {
          throw new Unsound(`it had ${note[what]} ${what} when it was anchored, and has ${found[what].length}: its tail was cut`);
        }
        if (note[what] && found[what][note[what] - 1].link !== note[link]) {
          throw new Unsound(`number ${note[what] - 1} of its ${what} is not the one that was anchored`);
        }
      }
    }
    if (notes.length && !count) throw new Unsound("what you gave is about another session");
    return count;
  }

  return { verify, readNotes, compareNotes, parseJson, dump, hash, Unsound, TooNew, NotAble };
})();
