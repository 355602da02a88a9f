// One step of a trajectory: who, when, what was thought, planned, said, called and answered.
const TIERS = {
  exact: "answered from the recording", exact_reused: "the same read again, from the recording", earlier_state: "answered as at an earlier state: may be wrong",
  fixture: "answered by a fixture", fault: "a fault kept the call from the tool", miss: "no recording answers this", live: "answered by the real service", sealed: "answered by the sealed service",
};

const kindOf = (step) => (step.source !== "agent" ? step.source : (step.calls || []).some((call) => call.error || known(call.unparsed)) ? "error" : step.calls ? "call" : step.message ? "reply" : "thought");

function tierChip(tier) {
  const doubtful = tier === "earlier_state" || tier === "miss" || tier === "fault";
  return tier ? el("span", { class: "chip tier" + (doubtful ? " open" : tier === "live" ? " live" : ""), title: TIERS[tier] || "" }, words(tier)) : null;
}

function callView(call, trial) {
  const head = el("div", { class: "call-head" }, el("code", { class: "tool" }, call.name), tierChip(call.tier),
    call.reported ? el("span", { class: "chip open", title: "only the agent tells of it; it did not cross the gateway" }, "self-reported") : null,
    call.injected ? el("span", { class: "chip open", title: "done to this call on purpose" }, "fault: " + words(call.injected)) : null,
    call.differs ? el("span", { class: "chip open" }, "answer differs") : null,
    call.error ? el("span", { class: "chip bad" }, "✗ " + words(call.error.type)) : null,
    known(call.ms) ? el("span", { class: "dim time" }, duration(call.ms)) : null);
  const failed = call.error ? el("p", { class: "error" }, call.error.message.text) : null;
  return el("div", { class: "call" }, head,
    call.args ? folding("arguments", call.args, trial.folder) : null,
    call.unparsed ? folding("arguments, no JSON object", call.unparsed, trial.folder, true) : null,
    failed, call.result ? folding("result", call.result, trial.folder) : call.error ? null : el("p", { class: "dim" }, "no answer was seen"));
}

function findingView(found) {
  const later = found.dependent_steps || [];
  return el("div", { class: "finding" }, el("strong", {}, "⚑ ", words(found.failure)), " ", el("span", { class: "dim" }, words(found.kind) + (known(found.confidence) ? ` · confidence ${number(found.confidence)}` : "")),
    el("p", {}, found.evidence.text), later.length ? el("p", { class: "dim" }, "Goes on in ", later.map((step, at) => [at ? ", " : "", el("a", { href: "#", "data-step": step }, `step ${step}`)])) : null);
}

function planView(plan, before) {
  const same = before && JSON.stringify(before) === JSON.stringify(plan);
  return el("details", { class: "plan", open: !same }, el("summary", {}, same ? "plan, unchanged" : `plan, ${plan.length} steps`), el("ol", {}, plan.map((one) => el("li", {}, one))));
}

/** `side`: 0 or 1 where two runs stand beside each other. */
function stepView(step, trial, before, side) {
  const findings = trial.diagnoses || [];
  const own = findings.filter((one) => one.origin_step === step.i);
  const rests = findings.filter((one) => (one.dependent_steps || []).includes(step.i));
  const kind = kindOf(step);
  const tokens = step.tokens?.some(known) ? `${thousands(step.tokens[0])} in, ${thousands(step.tokens[1])} out` : null;
  const facts = [step.agent && trial.agents > 1 ? step.agent : null, step.model, tokens, known(step.cost) ? usd(step.cost) : null, step.start > trial.begin ? `at ${duration(step.start - trial.begin)}` : null];
  return el("article", { class: "step is-" + kind + (own.length ? " flagged" : ""), tabindex: "-1", "data-index": step.i, "aria-label": `Step ${step.i}, ${step.source}${known(side) ? ", run " + [RUN, OTHER][side].run : ""}` },
    el("header", {}, known(side) ? el("span", { class: side ? "key-b" : "key-a", "aria-hidden": "true" }, side ? "■" : "●") : null, el("span", { class: "index" }, step.i), el("span", { class: "who" }, step.source), step.reported && !step.calls ? el("span", { class: "chip open", title: "only the agent tells of it; it did not cross the gateway" }, "self-reported") : null, rests.map((one) => el("span", { class: "chip bad" }, `⚑ rests on step ${one.origin_step ?? "?"}`)),
      el("span", { class: "dim facts" }, facts.filter(Boolean).join(" · "))),
    own.map(findingView),
    step.thought ? el("div", { class: "thought" }, el("span", { class: "sr" }, "Thought: "), prose(step.thought, trial.folder)) : null,
    step.plan ? planView(step.plan, before) : null,
    step.message ? el("div", { class: "message" }, prose(step.message, trial.folder)) : null,
    (step.calls || []).map((call) => callView(call, trial)));
}
