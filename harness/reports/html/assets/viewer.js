// The sheet that shows one trial, or the trials of two runs at the same case beside each other.
const sheet = { row: null, beside: Boolean(OTHER) };

function open(row, step) {
  sheet.row = row;
  view.chosen = row;
  drawSheet();
  const viewer = byId("viewer");
  if (!viewer.open) viewer.showModal();
  viewer.querySelector(".sheet-body").scrollTop = 0;
  const hash = hashOf(row);
  if (!location.hash.startsWith(hash)) history.replaceState(null, "", hash);
  if (known(step)) toStep(step);
  else viewer.querySelector(".sheet-body").focus();
}

function drawSheet() {
  const row = sheet.row;
  const trial = prepare(trialOf(0, row));
  const other = prepare(trialOf(1, row.other));
  const both = other && sheet.beside;
  const main = both ? [causeView(trial), pairsView(trial, other)] : [causeView(trial), verdictsView(trial), judgedView(trial), unplaced(trial), marksView(trial), stripView(trial), stepsView(trial), branchView(trial)];
  replaceChildren(byId("viewer"), sheetHead(row, other), el("div", { class: "sheet-body" + (both ? " wide" : ""), tabindex: "0", role: "group", "aria-label": "Trial" },
    (trial.notes || []).map((note) => el("p", { class: "alert" }, note)), main, leftBehind(trial),
    el("p", { class: "dim" }, `Everything: ${RUN.run}/${trial.folder}/${trial.trace ? " · trace " + trial.trace : ""}`)));
}

function sheetHead(row, other) {
  const at = view.rows.indexOf(row);
  const go = (by) => el("button", { type: "button", class: "quiet", "aria-label": by < 0 ? "Previous case" : "Next case", disabled: !view.rows[at + by] || at < 0, onclick: () => turn(by) }, by < 0 ? "↑" : "↓");
  const side = other ? el("button", { type: "button", class: "quiet", "aria-pressed": String(sheet.beside), onclick: toggleBeside }, "Side by side") : OTHER ? el("span", { class: "dim" }, `not in ${OTHER.run}`) : null;
  const facts = [words(row.category), row.difficulty, ...(row.tags || []), words(row.outcome), known(row.seconds) ? duration(1000 * row.seconds) : null, known(row.steps) ? number(row.steps, 0) + " steps" : null];
  return el("div", { class: "sheet-head" },
    el("div", { class: "sheet-title" }, el("h2", { id: "viewer-title" }, row.id, ATTEMPTS ? el("span", { class: "dim" }, " #" + row.n) : null), el("p", { class: "facts" }, mark(row.success), changed(row), (row.modes || []).map((one) => el("span", { class: "chip mode" }, words(one))), el("span", {}, facts.filter(Boolean).join(" · ")))),
    el("div", { class: "sheet-tools" }, side, go(-1), go(1), el("button", { type: "button", class: "quiet", onclick: close, "aria-label": "Close" }, "✕")));
}

function turn(by) {
  const row = neighbour(by);
  if (row && row !== sheet.row) open(row);
}

function toggleBeside() {
  if (!sheet.row?.other) return;
  sheet.beside = !sheet.beside;
  drawSheet();
  byId("viewer").querySelector(".sheet-body").focus();
}

function close() {
  byId("viewer").close();
}

function closed() {
  history.replaceState(null, "", location.pathname + location.search);
  const row = sheet.row;
  sheet.row = null;
  byId("viewer").replaceChildren();
  if (!row) return;
  reach(row);
  row.element?.focus();
}

function toStep(index) {
  const step = byId("viewer").querySelector(`.step[data-index="${CSS.escape(index)}"]`);
  if (!step) return;
  step.scrollIntoView({ block: "start" });
  step.focus({ preventScroll: true });
}

function moveStep(by) {
  const steps = [...byId("viewer").querySelectorAll(".step")];
  const at = steps.indexOf(document.activeElement?.closest?.(".step"));
  const next = steps[Math.max(0, Math.min(steps.length - 1, at + by))];
  next?.scrollIntoView({ block: "start" });
  next?.focus({ preventScroll: true });
}

function foldAll() {
  const folds = [...byId("viewer").querySelectorAll("details.fold")];
  const opening = folds.some((one) => !one.open);
  for (const one of folds) one.open = opening;
}

/** Opens what the address names: #case=ID&attempt=1&step=3. */
function followHash() {
  const asked = new URLSearchParams(location.hash.slice(1));
  if (!asked.has("case")) return;
  const attempt = Number(asked.get("attempt") || 1);
  const row = RUN.rows.find((one) => one.id === asked.get("case") && one.n === attempt);
  if (row) open(row, asked.get("step"));
  else replaceChildren(byId("alerts"), el("p", { class: "alert", role: "alert" }, `This run has no trial ${asked.get("case")}, attempt ${attempt}.`));
}

function watchViewer() {
  byId("viewer").addEventListener("close", closed);
  byId("viewer").addEventListener("click", (event) => {
    const step = event.target.closest("[data-step]");
    if (step) {
      event.preventDefault();
      toStep(step.dataset.step);
    } else if (event.target === byId("viewer")) close();
  });
  window.addEventListener("hashchange", followHash);
}
