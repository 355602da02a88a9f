// Keys of every page. Nothing here is needed to read or to change anything: each key stands for a link or a button.
const help = document.getElementById("help");
const ROWS = "tr[data-href], .step:not(.piece), .question";
let waiting = "";

const rows = () => [...document.querySelectorAll(ROWS)].filter((one) => one.checkVisibility());
const typing = (node) => node.closest?.("input, textarea, select, [contenteditable]");
const follow = (selector) => document.querySelector(selector)?.click();

// What a key stands for on this page alone goes before what it does on every page. Of several forms it is the focused one's,
// and without one that of the first question without an answer.
function ownOf(key) {
  const form = document.activeElement.closest("form.answers") ?? document.querySelector("form.answers[data-open]");
  const all = [...document.querySelectorAll("[data-key]")].filter((one) => one.dataset.key === key && !one.disabled);
  return all.find((one) => [null, form].includes(one.closest("form.answers")));
}

function move(by) {
  const all = rows();
  const at = all.indexOf(document.activeElement.closest(ROWS));
  const next = all[Math.max(0, Math.min(all.length - 1, at < 0 ? 0 : at + by))];
  if (!next) return;
  next.tabIndex = -1;
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

function foldAll() {
  const all = [...document.querySelectorAll("main details")];
  const open = all.some((one) => !one.open);
  for (const one of all) one.open = open;
}

const KEYS = {
  "?": () => (help.open ? help.close() : help.showModal()),
  "/": () => document.querySelector("[data-filter]")?.focus(),
  j: () => move(1),
  k: () => move(-1),
  n: () => follow("a[rel=next]"),
  p: () => follow("a[rel=prev]"),
  u: () => follow("[data-up]"),
  e: foldAll,
  g: () => (waiting = "g"),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (typing(event.target)) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (help.open && event.key !== "?") return;
  const was = waiting;
  waiting = "";
  const own = was ? null : ownOf(event.key);
  if (own) {
    if (own.matches("textarea, input")) own.focus();
    else if (!event.repeat) own.click();
    event.preventDefault();
    return;
  }
  const go = was === "g" && [...document.querySelectorAll("[data-go]")].find((one) => one.dataset.go === event.key);
  if (go) go.click();
  else if (event.key === "Enter" && event.target.matches("tr[data-href]")) location.assign(event.target.dataset.href);
  else if (KEYS[event.key]) KEYS[event.key]();
  else return;
  event.preventDefault();
});

document.getElementById("keys").addEventListener("click", KEYS["?"]);
document.addEventListener("click", (event) => {
  const row = event.target.closest("tr[data-href]");
  if (row && !event.target.closest("a, button, input, select, summary") && !getSelection().toString()) location.assign(row.dataset.href);
});
document.documentElement.dataset.ready = Math.round(performance.now());
