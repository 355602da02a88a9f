// Keys and light; then the page is drawn.
const SCHEMES = ["light dark", "light", "dark"];
const SCHEME_NAMES = { "light dark": "Auto", light: "Light", dark: "Dark" };

function setScheme(scheme) {
  document.documentElement.style.colorScheme = scheme;
  byId("theme").textContent = SCHEME_NAMES[scheme];
  byId("theme").setAttribute("aria-label", `Colours: ${SCHEME_NAMES[scheme]}. Change`);
}

function nextScheme() {
  const now = document.documentElement.style.colorScheme || SCHEMES[0];
  const next = SCHEMES[(SCHEMES.indexOf(now) + 1) % SCHEMES.length];
  setScheme(next);
  try {
    localStorage.setItem("harness-report-scheme", next);
  } catch {
    return; // a page from disk may have no storage; the choice then lasts as long as the page
  }
}

function storedScheme() {
  try {
    const stored = localStorage.getItem("harness-report-scheme");
    return SCHEMES.includes(stored) ? stored : SCHEMES[0];
  } catch {
    return SCHEMES[0];
  }
}

const ANYWHERE = { "?": () => byId("help").showModal(), t: nextScheme };
const IN_LIST = { j: () => move(1), ArrowDown: () => move(1), k: () => move(-1), ArrowUp: () => move(-1), "/": () => byId("filter-text").focus(), Enter: openChosen };
const IN_SHEET = { j: () => turn(1), ArrowRight: () => turn(1), k: () => turn(-1), ArrowLeft: () => turn(-1), n: () => moveStep(1), p: () => moveStep(-1), c: toggleBeside, e: foldAll };

function openChosen() {
  const row = view.rows.find((one) => one.element === document.activeElement);
  if (row) open(row);
  return Boolean(row);
}

/** An arrow scrolls unless it walks the rows; a letter in a field is a letter. */
function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
  const field = event.target.closest?.("input, select, textarea");
  if (field) {
    if (event.key === "Escape") field.blur();
    if (field.type === "search" && (event.key === "ArrowDown" || event.key === "Enter")) stepDown(event);
    return;
  }
  const action = (byId("viewer").open ? IN_SHEET : IN_LIST)[event.key] || ANYWHERE[event.key];
  const walks = !event.key.startsWith("Arrow") || byId("viewer").open || document.activeElement?.closest("#table");
  if (action && walks && action() !== false) event.preventDefault();
}

function stepDown(event) {
  view.chosen = null;
  move(0);
  event.preventDefault();
}

setScheme(storedScheme());
drawHead();
drawAlerts();
drawTiles();
drawPlots();
drawDetails();
drawCases();
watchViewer();
byId("theme").addEventListener("click", nextScheme);
byId("help-open").addEventListener("click", () => byId("help").showModal());
document.addEventListener("keydown", onKey);
followHash();
document.documentElement.dataset.ready = Math.round(performance.now());
