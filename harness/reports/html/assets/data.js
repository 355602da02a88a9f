// The run, the run beside it, and its trials: parsed when they are first looked at.
const REPORT = JSON.parse(byId("report").textContent);
const [RUN, OTHER] = REPORT.runs;
const MEASURED = new Set(["finished", "limit_reached", "agent_failed"]);
const keyOf = (row) => row.id + "\n" + row.n;

RUN.rows.forEach((row, place) => (row.place = place));
const OTHERS = new Map((OTHER ? OTHER.rows : []).map((row, place) => [keyOf(row), Object.assign(row, { place })]));
for (const row of RUN.rows) row.other = OTHERS.get(keyOf(row)) || null;

const ATTEMPTS = RUN.rows.some((row) => row.n > 1);
const parsedTrials = new Map();

/** A trial of run 0 or 1; null where that run has none. */
function trialOf(run, row) {
  if (!row) return null;
  const name = `trial-${run}-${row.place}`;
  if (!parsedTrials.has(name)) parsedTrials.set(name, JSON.parse(byId(name).textContent));
  return parsedTrials.get(name);
}

/** "better" or "worse" than in the other run; null where neither is known. */
function change(row) {
  if (!row.other || !known(row.success) || !known(row.other.success) || row.success === row.other.success) return null;
  return row.success ? "better" : "worse";
}

const figureOf = (run, metric) => run.summary.figures.find((one) => one.metric === metric);
const choices = (rows, pick) => [...new Set(rows.flatMap(pick).filter(known))].sort();
