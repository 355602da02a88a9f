// The table of cases: filtered, sorted, drawn as far as it is looked at.
const CHUNK = 120;
const COLUMNS = [
  { name: "Case", key: "id", get: (row) => row.id + " " + String(row.n).padStart(4, "0"), show: caseCell },
  { name: "Category", key: "category", get: (row) => row.category, show: (row) => words(row.category) },
  { name: "Success", key: "success", get: (row) => (known(row.success) ? Number(row.success) : 0.5), show: (row) => [mark(row.success), changed(row)] },
  { name: "Failure modes", key: "modes", get: (row) => row.modes?.join() || "~", show: (row) => (row.modes || []).map((one) => [el("span", { class: "chip mode" }, words(one)), " "]) },
  { name: "Outcome", key: "outcome", get: (row) => row.outcome, show: (row) => el("span", { class: row.outcome === "finished" ? "dim" : null }, words(row.outcome)) },
  { name: "Steps", key: "steps", number: true, get: (row) => row.steps ?? -1, show: (row) => number(row.steps, 0) },
  { name: "Errors", key: "errors", number: true, get: (row) => row.errors, show: (row) => (row.errors ? row.errors : el("span", { class: "dim" }, "0")) },
  { name: "Efficiency", key: "efficiency", number: true, get: (row) => row.efficiency ?? -1, show: (row) => fixed(row.efficiency, 2) },
  { name: "Cost", key: "cost", number: true, unless: () => !RUN.rows.some((row) => known(row.cost)), get: (row) => row.cost ?? -1, show: (row) => usd(row.cost) },
  { name: "Time", key: "time", number: true, get: (row) => row.seconds ?? -1, show: (row) => duration(known(row.seconds) ? 1000 * row.seconds : null) },
].filter((one) => !one.unless?.());
const view = { rows: RUN.rows, drawn: 0, sort: null, down: false, chosen: null };

function caseCell(row) {
  const name = el("a", { href: hashOf(row), tabindex: "-1" }, row.id);
  const why = row.success !== true && row.reasons?.length ? el("span", { class: "why" }, row.reasons[0]) : null;
  return [name, ATTEMPTS ? el("span", { class: "dim" }, " #" + row.n) : null, why];
}

const hashOf = (row) => `#case=${encodeURIComponent(row.id)}&attempt=${row.n}`;
const changed = (row) => change(row) && el("span", { class: "chip " + (change(row) === "better" ? "good" : "bad") }, change(row));

const FILTERS = {
  category: ["Category", (row) => [row.category]],
  outcome: ["Outcome", (row) => [row.outcome]],
  success: ["Success", (row) => [result(row.success)[1], change(row)]],
  mode: ["Failure mode", (row) => (row.modes?.length ? row.modes : ["none"])],
};

function drawFilters() {
  const text = el("input", { type: "search", id: "filter-text", placeholder: "Filter: case, tag, reason…", "aria-label": "Text in case, tag or reason", "aria-keyshortcuts": "/", oninput: filter });
  const selects = Object.entries(FILTERS).map(([name, [title, pick]]) => el("select", { id: "filter-" + name, "aria-label": title, onchange: filter },
    el("option", { value: "" }, title + ": all"), choices(RUN.rows, pick).map((one) => el("option", { value: one }, words(one)))));
  const clear = el("button", { type: "button", class: "quiet", onclick: () => { byId("filters").reset(); filter(); text.focus(); } }, "Clear");
  const form = byId("filters");
  replaceChildren(form, text, selects, clear);
  form.addEventListener("submit", (event) => event.preventDefault());
}

function drawHeads() {
  const heads = COLUMNS.map((one) => el("th", { role: "columnheader", scope: "col", class: one.number ? "num" : null, "aria-sort": view.sort !== one ? null : view.down ? "descending" : "ascending" },
    el("button", { type: "button", onclick: () => sortBy(one) }, one.name, el("span", { class: "arrow", "aria-hidden": "true" }, view.sort !== one ? "" : view.down ? " ↓" : " ↑"))));
  replaceChildren(byId("table").tHead, el("tr", { role: "row" }, heads));
}

function sortBy(column) {
  const again = view.sort === column;
  view.down = again ? !view.down : Boolean(column.number);
  view.sort = column;
  const place = COLUMNS.indexOf(column);
  drawHeads();
  filter();
  byId("table").tHead.rows[0].cells[place].firstChild.focus();
}

const haystack = (row) => (row.text ??= [row.id, row.category, row.difficulty, row.outcome, row.tags, row.modes?.map(words), row.reasons].flat().join(" ").toLowerCase());

function filter() {
  const wanted = byId("filter-text").value.toLowerCase().split(/\s+/).filter(Boolean);
  const picked = Object.entries(FILTERS).map(([name, [, pick]]) => [byId("filter-" + name).value, pick]).filter(([value]) => value);
  view.rows = RUN.rows.filter((row) => wanted.every((word) => haystack(row).includes(word)) && picked.every(([value, pick]) => pick(row).includes(value)));
  if (view.sort) view.rows = sorted(view.rows, view.sort.get, view.down);
  drawRows();
}

function sorted(rows, get, down) {
  const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  return [...rows].sort((a, b) => (down ? -1 : 1) * order(get(a), get(b)) || a.place - b.place);
}

function drawRows() {
  byId("table").tBodies[0].replaceChildren();
  view.drawn = 0;
  drawMore();
  byId("count").textContent = view.rows.length === RUN.rows.length ? `${view.rows.length} trials` : `${view.rows.length} of ${RUN.rows.length} trials`;
}

function drawMore() {
  const next = view.rows.slice(view.drawn, view.drawn + CHUNK);
  view.drawn += next.length;
  append(byId("table").tBodies[0], next.map(rowElement));
  const left = view.rows.length - view.drawn;
  replaceChildren(byId("more"), left ? el("button", { type: "button", class: "quiet", onclick: drawMore }, `${left} more`) : view.rows.length ? null : "No trial matches the filter.");
  marked();
}

function rowElement(row) {
  const cells = COLUMNS.map((one, at) => el(at ? "td" : "th", { role: at ? "cell" : "rowheader", scope: at ? null : "row", class: one.number ? "num" : null, "data-name": one.name }, one.show(row)));
  row.element = el("tr", { role: "row", tabindex: "-1", "aria-label": `${row.id}, attempt ${row.n}, ${result(row.success)[1]}`, onclick: () => open(row), onfocus: () => choose(row) }, cells);
  return row.element;
}

/** One row is reached by the tabulator, the others by the arrows. */
function marked() {
  const first = view.rows.includes(view.chosen) ? view.chosen : view.rows[0];
  for (const row of view.rows.slice(0, view.drawn)) row.element.tabIndex = row === first ? 0 : -1;
}

function choose(row) {
  if (view.chosen?.element) view.chosen.element.tabIndex = -1;
  view.chosen = row;
  row.element.tabIndex = 0;
}

/** The case `by` places from the chosen one. */
function neighbour(by) {
  const at = view.rows.indexOf(view.chosen);
  return view.rows[at < 0 ? 0 : Math.max(0, Math.min(view.rows.length - 1, at + by))];
}

function reach(row) {
  while (view.rows.includes(row) && view.rows.indexOf(row) >= view.drawn) drawMore();
}

function move(by) {
  const row = neighbour(by);
  if (!row) return;
  reach(row);
  row.element.focus();
  row.element.scrollIntoView({ block: "nearest" });
}

function drawCases() {
  drawFilters();
  drawHeads();
  drawRows();
  new IntersectionObserver((entries) => {
    if (entries.some((one) => one.isIntersecting) && view.drawn < view.rows.length) drawMore();
  }, { rootMargin: "600px" }).observe(byId("more"));
}
