// What made a trial fail, found by intervention: beside the symptom, and both branches from their common stem.
function causeView(trial) {
  const cause = trial.cause;
  if (!cause) return null;
  const steps = cause.steps.map((step) => el("a", { href: "#", class: "bad", "data-step": step }, `step ${step}`));
  return el("section", { class: "cause", "aria-label": "Cause and symptom" },
    el("p", {}, el("strong", {}, "Cause by intervention, "), steps.flatMap((one, at) => (at ? [", ", one] : [one])), ": ", cause.words),
    el("p", {}, el("strong", {}, "Symptom: "), cause.symptom),
    el("p", { class: "dim" }, cause.effect));
}

/** The trial and its fork that succeeds, from the step on at which they part. */
function branchView(trial) {
  const branch = prepare(trial.cause?.branch);
  if (!branch) return null;
  const pairs = aligned(trial.steps, branch.steps);
  const first = pairs.findIndex((pair) => !sameStep(pair));
  const stem = first < 0 ? "The steps are the same: only the answer was changed." : first ? `The first ${first} steps are the common stem.` : "They differ from the first step on.";
  const rows = (first < 0 ? [] : pairs.slice(first)).map((pair) => el("div", { class: "pair" + (sameStep(pair) ? " same" : "") },
    [trial, branch].map((side, at) => (pair[at] ? stepView(pair[at], side, null) : el("div", { class: "gap", "aria-label": "no such step in this branch" }, "–")))));
  const heads = el("div", { class: "pair heads" }, el("div", {}, el("strong", {}, "As it was")), el("div", {}, el("strong", {}, "With the change"), el("span", { class: "dim" }, " " + trial.cause.fork), branch.final ? prose(branch.final, trial.folder) : null));
  return section("Both branches", el("div", { class: "pairs" }, el("p", { class: "dim" }, stem), rows.length ? heads : null, rows), true);
}
