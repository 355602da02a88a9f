// Two trajectories side by side: steps that do the same stand in one row, the others alone.
const EXACT = 4;
const ALIKE = 2;

const payloadText = (payload) => (payload ? payload.json ?? payload.text : "");
const callsOf = (step) => (step.names ??= (step.calls || []).map((call) => call.name).join("\n"));
const asked = (step) => (step.asked ??= (step.calls || []).map((call) => call.name + payloadText(call.args)).join("\n"));

/** How well two steps stand in one row; 0: not at all. */
function likeness(a, b) {
  if (a.source !== b.source || callsOf(a) !== callsOf(b)) return 0;
  return asked(a) === asked(b) && payloadText(a.message) === payloadText(b.message) ? EXACT : a.calls ? ALIKE : 1;
}

/** Pairs [step or null, step or null] in order, of the greatest likeness in all. */
function aligned(left, right) {
  const best = Array.from({ length: left.length + 1 }, () => new Float64Array(right.length + 1));
  for (let a = left.length - 1; a >= 0; a--) {
    for (let b = right.length - 1; b >= 0; b--) {
      const like = likeness(left[a], right[b]);
      best[a][b] = Math.max(best[a + 1][b], best[a][b + 1], like ? like + best[a + 1][b + 1] : 0);
    }
  }
  const pairs = [];
  let [a, b] = [0, 0];
  while (a < left.length && b < right.length) {
    const like = likeness(left[a], right[b]);
    if (like && best[a][b] === like + best[a + 1][b + 1]) pairs.push([left[a++], right[b++]]);
    else if (best[a][b] === best[a + 1][b]) pairs.push([left[a++], null]);
    else pairs.push([null, right[b++]]);
  }
  for (; a < left.length; a++) pairs.push([left[a], null]);
  for (; b < right.length; b++) pairs.push([null, right[b]]);
  return pairs;
}

/** Did the same and was given the same. */
function sameStep([a, b]) {
  return Boolean(a && b) && likeness(a, b) === EXACT && (a.calls || []).every((call, at) => sameAnswer(call, b.calls[at]));
}

function sameAnswer(a, b) {
  return payloadText(a.result) === payloadText(b.result) && a.error?.type === b.error?.type;
}

/** The same question, another answer: where a mock and the real thing part. */
function markAnswers(pairs) {
  for (const [a, b] of pairs) {
    if (!a || !b || asked(a) !== asked(b)) continue;
    (a.calls || []).forEach((call, at) => (call.differs = b.calls[at].differs = !sameAnswer(call, b.calls[at])));
  }
}
