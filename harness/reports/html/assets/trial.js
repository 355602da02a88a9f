// A trial in full: what was checked, what went wrong, the steps, and what was left behind.
function prepare(trial) {
  if (!trial || trial.ready) return trial;
  const steps = (trial.steps ??= []);
  trial.begin = steps.find((step) => known(step.start))?.start ?? 0;
  trial.agents = new Set(steps.map((step) => step.agent).filter(Boolean)).size;
  trial.ready = true;
  return trial;
}

function verdictsView(trial) {
  return el("ul", { class: "verdicts" }, (trial.verdicts || []).map((one) => el("li", {}, mark(one.passed, one.check), " ", el("span", {}, one.reason?.text || ""),
    one.evidence ? folding("evidence", one.evidence, trial.folder, false) : null)));
}

function stripView(trial) {
  const flagged = new Set((trial.diagnoses || []).map((one) => one.origin_step));
  const marks = trial.steps.map((step) => el("button", { type: "button", class: "tick is-" + kindOf(step) + (flagged.has(step.i) ? " flagged" : ""), "data-step": step.i, title: `step ${step.i}: ${tickWords(step)}`, "aria-label": `Step ${step.i}: ${tickWords(step)}` }));
  return el("div", { class: "strip", role: "group", "aria-label": "Timeline: the steps in their order" }, marks, clockView(trial));
}

function tickWords(step) {
  const names = (step.calls || []).map((call) => call.name + (call.error ? ", " + words(call.error.type) : ""));
  return names.join("; ") || step.source + ": " + brief(step.message || step.thought, 60);
}

/** When each step ran, to scale. */
function clockView(trial) {
  const timed = trial.steps.filter((step) => known(step.start) && known(step.end));
  if (timed.length < 2) return null;
  const total = Math.max(...timed.map((step) => step.end)) - trial.begin;
  if (!(total > 0)) return null;
  const bars = timed.map((step) => svg("rect", { class: "bar-" + kindOf(step), x: (1000 * (step.start - trial.begin)) / total, y: 1, width: Math.max(2, (1000 * (step.end - step.start)) / total), height: 6 }));
  return el("div", { class: "clock" }, svg("svg", { viewBox: "0 0 1000 8", preserveAspectRatio: "none", role: "img", "aria-label": `The steps to scale of time: ${duration(total)} in all` }, svg("rect", { class: "rail", x: 0, y: 3, width: 1000, height: 2 }), bars), el("span", { class: "dim" }, duration(total)));
}

function stepsView(trial) {
  let plan = null;
  const views = trial.steps.map((step) => {
    const view = stepView(step, trial, plan);
    plan = step.plan || plan;
    return view;
  });
  return el("div", { class: "steps" }, views, elided(trial));
}

const elided = (trial) => (trial.steps_of ? el("p", { class: "cut" }, `The first ${trial.steps.length} of ${trial.steps_of} steps. All of them: ${trial.folder}/trial.json`) : null);

function pairsView(left, right) {
  const pairs = aligned(left.steps, right.steps);
  markAnswers(pairs);
  const first = pairs.findIndex((pair) => !sameStep(pair));
  const rows = pairs.map((pair, at) => el("div", { class: "pair" + (sameStep(pair) ? " same" : at === first ? " first" : "") },
    at === first ? el("p", { class: "parting" }, "Here they part") : null,
    [left, right].map((trial, side) => (pair[side] ? stepView(pair[side], trial, null, side) : el("div", { class: "gap", "aria-label": "no such step in this run" }, "–")))));
  const heads = el("div", { class: "pair heads" }, [[RUN, left], [OTHER, right]].map(([run, trial], side) => el("div", { class: side ? "key-b" : "key-a" }, side ? "■ " : "● ", el("strong", {}, run.run), el("span", { class: "dim" }, " " + run.label), verdictsView(trial), judgedView(trial), unplaced(trial))));
  return el("div", { class: "pairs" }, heads, first < 0 ? el("p", { class: "dim" }, "Both did and saw the same, step by step.") : null, rows, elided(left), elided(right));
}

/** Where to look, before the steps. */
function marksView(trial) {
  const placed = (trial.diagnoses || []).filter((one) => known(one.origin_step));
  return placed.length ? el("p", { class: "marks" }, placed.map((one) => el("a", { href: "#", class: "bad", "data-step": one.origin_step }, `⚑ ${words(one.failure)} at step ${one.origin_step}`))) : null;
}

const unplaced = (trial) => (trial.diagnoses || []).filter((one) => !known(one.origin_step)).map(findingView);

function exitWords(one) {
  const how = one.timed_out ? "stopped at the time limit" : known(one.signal) ? `ended by signal ${one.signal}` : `exit status ${one.code ?? "not known"}`;
  return known(one.seconds) ? `${how} after ${duration(1000 * one.seconds)}` : how;
}

function exitView(name, one, folder) {
  const dropped = (one.dropped || []).map((words) => el("p", { class: "cut" }, words));
  return el("div", {}, el("p", {}, name, ": ", exitWords(one)), dropped, one.stderr ? folding("stderr", one.stderr, folder) : null, one.stdout ? folding("stdout", one.stdout, folder) : null);
}

function filesView(files) {
  const rows = (files.changes || []).map(([how, path, kind, bytes]) => [how, el("code", {}, path), kind, known(bytes) ? thousands(bytes) : ""]);
  return [files.problem ? el("p", { class: "error" }, files.problem) : null, rows.length ? plainTable("Changed files", ["Change", "Path", "Kind", "Bytes"], rows, [1, 2]) : el("p", { class: "dim" }, "No file was changed."),
    files.of > rows.length ? el("p", { class: "cut" }, `${files.of} changes in all`) : null];
}

/** A page that a check looked at, and its picture. */
function pageView(page, folder) {
  const where = [page.url, page.title && `“${page.title}”`, page.status].filter(Boolean).join(" · ");
  return el("figure", { class: "page" }, el("figcaption", {}, page.check, ": ", page.problem ? el("span", { class: "error" }, page.problem) : where),
    page.picture ? el("img", { src: page.picture, alt: `The page that the check ${page.check} looked at`, loading: "lazy" }) : page.file ? el("p", { class: "cut" }, `The picture: ${folder}/${page.file}`) : null);
}

/** What each service printed last, where the harness failed for one of them. */
function servicesView(trial) {
  const logs = Object.entries(trial.services || {});
  const shown = ([name, log]) => (log.text ? folding(name, log, trial.folder, true) : el("p", { class: "dim" }, `${name} printed nothing`));
  return logs.length ? section("The end of the services' logs", logs.map(shown), true) : null;
}

function leftBehind(trial) {
  const fold = (name, payload) => folding(name, payload, trial.folder);
  const states = Object.entries(trial.states || {});
  const commands = Object.entries(trial.commands || {});
  const scores = (trial.scores || []).map(([metric, value, why]) => [words(metric), number(value, 3), why]);
  return el("div", { class: "after" },
    servicesView(trial),
    trial.final ? section("Final answer", prose(trial.final, trial.folder), true) : null,
    trial.misses ? section(`Not recorded (${trial.misses.length})`, trial.misses.map((one) => fold("miss", one)), true) : null,
    states.length ? section("State at the end", states.map(([name, payload]) => fold(name, payload)), true) : null,
    scores.length ? section(`Figures of this trial (${scores.length})`, plainTable("Figures of this trial", ["Figure", "Value", "Why"], scores, [2])) : null,
    trial.pages ? section("Pages at the end", trial.pages.map((page) => pageView(page, trial.folder)), true) : null,
    trial.files ? section(`Files (${trial.files.of || 0} changed)`, filesView(trial.files)) : null,
    trial.exit ? section("The agent's program", exitView("Program", trial.exit, trial.folder), trial.failed) : null,
    commands.length ? section("Check commands", commands.map(([name, one]) => exitView(name, one, trial.folder))) : null);
}
