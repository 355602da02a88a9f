// What judges said: a table for each rubric, and the verdicts of a trial with their reasons.
const ANSWERS = { pass: [true, "pass"], fail: [false, "fail"], not_eligible: [null, "not eligible"], judge_failed: [null, "no answer"] };

/** Criteria stand under their domains; beside another run that was judged by the same rubric, with its rates. */
function judgedTable(one) {
  const other = OTHER?.judged?.find((table) => table.key === one.key);
  const rates = new Map((other?.rows || []).map((row) => [row[0], row[1]]));
  const name = (text) => (text.startsWith(" ") ? el("span", { class: "part" }, text.trim()) : el("strong", {}, text));
  const rows = one.rows.map(([head, ...cells]) => [name(head), ...cells, ...(other ? [rates.get(head) ?? UNKNOWN] : [])]);
  const heads = [...one.heads, ...(other ? [`rate in ${OTHER.run}`] : [])];
  return [plainTable(one.title, heads, rows), one.notes.map((note) => el("p", { class: "dim" }, note)), other ? el("p", { class: "dim" }, `${OTHER.run}: ${other.notes[0]}`) : null];
}

const judgedSections = () => (RUN.judged || []).map((one) => section(one.title[0].toUpperCase() + one.title.slice(1), judgedTable(one), true));

function judgedVerdict(one, trial) {
  const [passed, said] = ANSWERS[one.answer];
  const sign = known(passed) ? mark(passed, `${one.criterion}: ${said}`) : el("span", { class: "dim" }, `${one.criterion}: ${said}`);
  const steps = (one.steps || []).map((step) => [" ", el("a", { href: "#", "data-step": step }, `step ${step}`)]);
  return el("li", { title: one.judge }, sign, steps, one.why ? prose(one.why, trial.folder) : null);
}

function judgedView(trial) {
  const all = trial.judged || [];
  const rubrics = [...new Set(all.map((one) => one.rubric))];
  return rubrics.map((rubric) => {
    const own = all.filter((one) => one.rubric === rubric);
    const count = (answer) => own.filter((one) => one.answer === answer).length;
    const told = Object.entries(ANSWERS).filter(([answer]) => count(answer)).map(([answer, [, said]]) => `${count(answer)} ${said}`);
    return el("details", { class: "judged", open: count("fail") > 0 }, el("summary", {}, `Judged by ${rubric}: ${told.join(", ")}`),
      el("ul", { class: "verdicts" }, own.map((one) => judgedVerdict(one, trial))));
  });
}
