// What the run gave: the tiles at the top, and the tables of figures, tools, replay and what was not measured.
function drawHead() {
  byId("run-name").textContent = RUN.run;
  const facts = RUN.facts.map(([name, value]) => [el("span", {}, el("b", {}, name), " ", value), " "]);
  replaceChildren(byId("run-facts"), facts, el("span", {}, RUN.created.replace("T", " ").slice(0, 16) + " UTC"));
}

function drawAlerts() {
  const refused = REPORT.comparison && REPORT.comparison.refused;
  const counts = RUN.summary.counts;
  const unmeasured = counts.planned - counts.finished - counts.limit_reached - counts.agent_failed;
  replaceChildren(byId("alerts"),
    RUN.isolates ? null : el("p", { class: "alert" }, "The sandbox was not sealed: scores may owe something to the machine."),
    unmeasured ? el("p", { class: "alert" }, `${unmeasured} of ${counts.planned} trials were not measured and stand in no figure. They are listed under Figures.`) : null,
    RUN.summary.stopped ? el("p", { class: "alert" }, `The run ended before its plan: ${RUN.summary.stopped}`) : null,
    refused ? el("p", { class: "alert" }, `Only side by side, not compared: ${refused}`) : null);
}

function tile(name, value, under, drawing) {
  return el("div", { class: "tile" }, el("h2", {}, name), el("p", { class: "value" }, value), drawing || null, el("p", { class: "under" }, under));
}

function successBar(rate) {
  if (!known(rate.rate)) return null;
  const at = (share) => 100 * share;
  const low = rate.interval ? at(rate.interval.low) : at(rate.rate);
  const high = rate.interval ? at(rate.interval.high) : at(rate.rate);
  return svg("svg", { class: "gauge", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { x: 0, y: 3, width: 100, height: 2, class: "rail" }), svg("rect", { x: low, y: 2, width: Math.max(0.5, high - low), height: 4, class: "span" }),
    svg("rect", { x: Math.max(0, at(rate.rate) - 0.6), y: 0, width: 1.2, height: 8, class: "point" }));
}

function beside(metric, shown) {
  const other = OTHER && figureOf(OTHER, metric);
  return other ? `${shown(other.mean)} in ${OTHER.run}` : "";
}

function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted.length ? sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] : null;
}

function drawTiles() {
  const { success, counts } = RUN.summary;
  const undecided = counts.undecided || 0;
  const measured = counts.finished + counts.limit_reached + counts.agent_failed - undecided;
  const mean = (metric) => figureOf(RUN, metric)?.mean;
  const seconds = valuesOf(RUN, (row) => row.seconds).map((one) => 1000 * one);
  const verdict = REPORT.comparison?.verdict;
  const versus = OTHER ? [`${percent(OTHER.summary.success.rate)} in ${OTHER.run}${unknownOf(OTHER.summary.success)}`, verdict ? ` · ${verdict}` : ""] : [];
  replaceChildren(byId("tiles"),
    tile("Success", percent(success.rate), [`${success.successes} of ${success.n}, ${interval(success.interval)}${unknownOf(success)}`, OTHER ? el("br") : null, versus], successBar(success)),
    tile("Measured", `${measured}/${counts.planned}`, [counts.limit_reached ? `${counts.limit_reached} at a limit ` : "", counts.agent_failed ? `${counts.agent_failed} ended in the agent's failure` : "", undecided ? `${undecided} undecided by their checks` : counts.limit_reached || counts.agent_failed ? "" : "all finished"]),
    tile("Step efficiency", number(mean("step_efficiency")), ["needed / made. ", beside("step_efficiency", number)]),
    tile("Steps", number(mean("steps"), 1), ["mean per trial. ", beside("steps", (value) => number(value, 1))]),
    known(mean("cost_usd")) ? tile("Cost", usd(mean("cost_usd")), ["mean per trial. ", beside("cost_usd", usd)])
      : tile("Tokens", known(mean("tokens")) ? thousands(Math.round(mean("tokens"))) : UNKNOWN, known(mean("tokens")) ? "mean per trial" : "no model was seen"),
    tile("Duration", duration(quantile(seconds, 0.5)), `median; 95th percentile ${duration(quantile(seconds, 0.95))}`));
}

/** The first column names the row; the others are figures, but for those whose places are in `texts`. */
function plainTable(caption, heads, rows, texts = []) {
  const tone = (at) => (at && !texts.includes(at) ? "num" : null);
  const cell = (value, at) => el(at ? "td" : "th", { scope: at ? null : "row", class: tone(at) }, value);
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, el("table", { class: "plain" },
    el("thead", {}, el("tr", {}, heads.map((head, at) => el("th", { scope: "col", class: tone(at) }, head)))),
    el("tbody", {}, rows.map((row) => el("tr", {}, row.map(cell))))));
}

const between = (one) => (one ? `${fixed(one.low, 3)} to ${fixed(one.high, 3)}` : "");

function figuresTable() {
  const heads = ["Figure", "Mean", "95 % interval", "Trials", ...(OTHER ? [OTHER.run, "Difference in pairs", "Told"] : [])];
  const rows = RUN.summary.figures.map((one) => {
    const name = [words(one.metric), one.lower_is_better ? el("span", { class: "dim" }, " (less is better)") : null];
    return [name, fixed(one.mean, 3), between(one.interval), one.n, ...(OTHER ? changeCells(one.metric) : [])];
  });
  const whole = (RUN.summary.run_scores || []).map((one) => [words(one.metric), fixed(one.value, 3), "", "run", ...(OTHER ? ["", "", ""] : [])]);
  return plainTable("Figures", heads, [...rows, ...whole], [6]);
}

/** The other run's mean, and the change over the trials that both runs know. */
function changeCells(metric) {
  const found = REPORT.comparison.metrics?.[metric];
  const apart = found?.difference;
  return [fixed(figureOf(OTHER, metric)?.mean, 3), (known(apart) && apart > 0 ? "+" : "") + fixed(apart, 3), found?.pairs ? toldCell(found) : ""];
}

/** What the test says of a change, after correction for the number of tests. */
function toldCell(told) {
  const tone = { better: "good", worse: "bad" }[told.found] || "dim";
  return el("span", { class: tone, title: told.verdict }, told.found === "same" ? "no change" : words(told.found));
}

function changesTable(name, rows) {
  const shown = rows.map((one) => [words(one.name), percent(one.before), percent(one.after), one.pairs, toldCell(one), one.verdict]);
  return rows.length ? plainTable(name, [name, OTHER.run, RUN.run, "Pairs", "Told", "How sure"], shown, [4, 5]) : null;
}

/** Replayed and live: the same agent with recorded answers and with the real services. */
function divergenceView({ mocked, live, success, interval: apart, cases }) {
  const points = (share) => (share > 0 ? "+" : "") + fixed(100 * share, 0);
  const range = apart ? ` (95 %: ${points(apart.low)} to ${points(apart.high)})` : "";
  const rows = cases.map((one) => [one.case_id, `${one.mocked.successes}/${one.mocked.n}`, `${one.live.successes}/${one.live.n}`, one.cause, one.because]);
  return [el("p", {}, `Mocked ${percent(success.before)} (${mocked}), live ${percent(success.after)} (${live}): ${points(success.difference)} points${range} over ${success.pairs} cases.`),
    rows.length ? plainTable("Replayed and live", ["Case", "Mocked", "Live", "Cause", "Evidence"], rows, [3, 4]) : el("p", {}, "No case differs.")];
}

function changeView() {
  const { verdict, cause, separating, metrics, failures, slices, differences } = REPORT.comparison;
  return [el("p", {}, el("strong", {}, `Success: ${verdict}.`)), changesTable("Success", [metrics.task_success]),
    el("p", {}, `From ${OTHER.run} to ${RUN.run}: ${cause}.`), separating.map((run) => el("p", { class: "dim" }, `Would separate them: ${run}`)),
    changesTable("Failure mode", failures), changesTable("Part of the trials", slices), differences.length ? differencesTable() : null];
}

function toolsTable(name, tools) {
  const spent = tools.some((one) => known(one.cost_usd));
  const timed = tools.some((one) => one.latency);
  const heads = [name, "Calls", "Trials", "Wrong choice", "Invalid", "Errors", "Recovered", "Faults", "Misses", ...(spent ? ["Cost"] : []), ...(timed ? ["p50", "p95"] : [])];
  const rows = tools.map((one) => [el("code", {}, one.name), one.calls, one.trials, one.wrong, invalidCell(one.invalid), one.errors, one.recovered, one.faults, one.misses,
    ...(spent ? [usd(one.cost_usd)] : []), ...(timed ? [duration(one.latency?.p50_ms), duration(one.latency?.p95_ms)] : [])]);
  return plainTable(name, heads, rows.map((row) => row.map((value) => (value === 0 ? el("span", { class: "dim" }, "0") : value))));
}

function invalidCell(kinds) {
  const found = Object.entries(kinds || {});
  const total = found.reduce((sum, [, n]) => sum + n, 0);
  return total ? [String(total), el("span", { class: "dim" }, " " + found.map(([kind, n]) => `${words(kind)} ${n}`).join(", "))] : 0;
}

function reliabilityTable() {
  const rows = RUN.summary.reliability.map((one) => [`${one.k} attempts`, percent(one.at_least_one), interval(one.at_least_one_interval), percent(one.all_of_them), interval(one.all_of_them_interval), one.cases]);
  return plainTable("Reliability", ["Of", "pass@k: one succeeds", "95 % interval", "pass^k: all succeed", "95 % interval", "Cases"], rows);
}

function differencesTable() {
  const rows = REPORT.comparison.differences.map(([field, before, after, note]) => [words(field), before, after, note || ""]);
  return plainTable("What differs between the runs", ["", OTHER.run, RUN.run, "Mind"], rows, [1, 2, 3]);
}

function replayTables() {
  const { tiers, misses, fidelity } = RUN.summary;
  const total = Object.values(tiers || {}).reduce((sum, one) => sum + one, 0);
  const served = Object.entries(tiers || {}).map(([tier, n]) => [words(tier), thousands(n), percent(n / total)]);
  const missed = (misses || []).map((one) => [el("code", {}, one.tool), one.calls, one.trials, one.example, one.nearest || "none"]);
  return [known(fidelity) ? el("p", {}, `Replay fidelity ${percent(fidelity)}: calls put to a cassette that were answered as the tool would have.`) : null,
    RUN.provenance ? el("p", {}, RUN.provenance[0].toUpperCase() + RUN.provenance.slice(1) + ".") : null,
    served.length ? plainTable("Where answers came from", ["Answered from", "Calls", "Share"], served) : null,
    missed.length ? plainTable("Not recorded", ["Not recorded", "Calls", "Trials", "Example", "Nearest recording"], missed, [3, 4]) : null];
}

function lastLines(one) {
  return Object.entries(one.last_lines || {}).map(([name, line]) => el("p", { class: "dim" }, `service ${name}: `, line ? el("code", {}, line) : "printed nothing"));
}

function failedCodeView() {
  const rows = (RUN.summary.failed_code || []).map((one) => [`${one.kind} ${one.name}`, one.trials || "–", one.raised]);
  return rows.length ? section(`Metrics and checks that failed themselves (${rows.length})`, plainTable("Code that raised; its figures are missing", ["What", "Trials", "Raised"], rows, [2]), true) : null;
}

function section(name, filled, open) {
  return filled ? el("details", { open }, el("summary", {}, name), filled) : null;
}

function drawDetails() {
  const { tools, models, reliability, unmeasured = [] } = RUN.summary;
  const rest = unmeasured.slice(0, 500).map((one) => [`${one.case_id}/${one.attempt}`, words(one.outcome), [one.reason || "", lastLines(one)]]);
  replaceChildren(byId("details"),
    REPORT.comparison?.divergence ? section("Replayed and live", divergenceView(REPORT.comparison.divergence), true) : null,
    OTHER && !REPORT.comparison.refused ? section("What changed, and why", changeView(), true) : null,
    failedCodeView(),
    judgedSections(),
    section(`All figures (${RUN.summary.figures.length})`, figuresTable()),
    tools?.length ? section(`Tools (${tools.length})`, [toolsTable("Tool", tools), models?.length ? toolsTable("Model", models) : null]) : null,
    reliability?.length ? section("Reliability over attempts", reliabilityTable()) : null,
    RUN.provenance || Object.keys(RUN.summary.tiers || {}).length ? section("Replay", replayTables()) : null,
    rest.length ? section(`Not measured (${unmeasured.length})`, plainTable("Not measured", ["Trial", "Outcome", "Why"], rest, [1, 2]), unmeasured.length < 20) : null);
}
