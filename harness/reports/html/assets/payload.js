// What was sent and what came back: laid out, coloured, and short until it is asked for.
const TOKEN = /"(?:[^"\\]|\\.)*(?:"|$)|[{}[\],:]|[^\s{}[\],:"]+/g;
const INLINE = 72;
const OPEN_BELOW = 160;
const LONG = 1200;

/** JSON text in lines; numbers stay as they were written. Text that was cut is laid out as far as it goes. */
function laidOut(text) {
  const tokens = text.match(TOKEN) || [];
  const out = document.createDocumentFragment();
  let depth = 0;
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at];
    if (token === "{" || token === "[") {
      const short = inline(tokens, at);
      if (short) {
        for (; at < short; at++) out.append(...spaced(tokens, at));
        out.append(tokens[short]);
      } else out.append(token + lineAt(++depth));
    } else if (token === "}" || token === "]") out.append(lineAt(--depth) + token);
    else if (token === ",") out.append("," + lineAt(depth));
    else out.append(...spaced(tokens, at));
  }
  return out;
}

const lineAt = (depth) => "\n" + "  ".repeat(Math.max(0, Math.min(depth, 40)));

/** Where a container ends that fits into a line; 0 where it does not. */
function inline(tokens, start) {
  let length = 0;
  let depth = 0;
  for (let at = start; at < tokens.length && length < INLINE; at++) {
    if (tokens[at] === "{" || tokens[at] === "[") depth++;
    if ((tokens[at] === "}" || tokens[at] === "]") && --depth === 0) return at;
    length += tokens[at].length + 1;
  }
  return 0;
}

function spaced(tokens, at) {
  const token = tokens[at];
  if (token === ":" || token === ",") return [token + " "];
  if ("{}[]".includes(token)) return [token];
  const tone = token[0] !== '"' ? "j-value" : tokens[at + 1] === ":" ? "j-key" : "j-text";
  return [el("span", { class: tone }, token)];
}

/** One line of a payload: the arguments of a call, the beginning of a result. */
function brief(payload, most = 120) {
  if (!payload) return "";
  const text = (payload.json ?? payload.text ?? "").replace(/\s+/g, " ").trim();
  return text.length > most ? text.slice(0, most - 1) + "…" : text;
}

function body(payload, folder) {
  const text = payload.json ?? payload.text ?? "";
  const pre = el("pre", { tabindex: "0" }, payload.json === undefined ? text : laidOut(text));
  if (!payload.of) return pre;
  const part = payload.end ? "The last" : "Cut after";
  const note = `${part} ${thousands(text.length)} of ${thousands(payload.of)} characters. All of it: ${folder}/trial.json`;
  return [pre, el("p", { class: "cut" }, note)];
}

const size = (payload) => payload.of || (payload.json ?? payload.text ?? "").length;

/** A payload that folds; its text is laid out when it is opened first. */
function folding(name, payload, folder, open = size(payload) <= OPEN_BELOW) {
  const box = el("details", { class: "fold" }, el("summary", {}, el("span", { class: "fold-name" }, name), " ",
    el("code", { class: "brief" }, brief(payload))));
  const unfold = () => {
    if (box.open && box.childElementCount === 1) append(box, [body(payload, folder)]);
  };
  box.addEventListener("toggle", unfold);
  box.open = open;
  unfold();
  return box;
}

/** Words; long ones scroll in their own box, so that the steps around them stay in sight. */
const prose = (payload, folder) => [
  el("p", { class: "prose", tabindex: size(payload) > LONG ? "0" : null }, payload.text ?? payload.json ?? ""),
  payload.of ? el("p", { class: "cut" }, `Cut: ${thousands(payload.of)} characters in ${folder}/trial.json`) : null,
];
