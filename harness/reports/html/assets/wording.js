// Figures in words, alike everywhere. What is not known is a dash, never a nought.
const UNKNOWN = "–";
const known = (value) => value !== null && value !== undefined;

const words = (name) => String(name).replaceAll("_", " ");
const percent = (share) => (known(share) ? Math.round(100 * share) + " %" : UNKNOWN);
const number = (value, digits = 2) => (known(value) ? trimmed(Number(value), digits) : UNKNOWN);
/** With all its digits, for columns. */
const fixed = (value, digits) => (known(value) ? Number(value).toFixed(digits) : UNKNOWN);

function trimmed(value, digits) {
  if (Number.isNaN(value)) return "NaN";
  if (Math.abs(value) >= 10000) return value.toLocaleString("en", { maximumFractionDigits: 0 });
  return value.toFixed(digits).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
}

function duration(ms) {
  if (!known(ms)) return UNKNOWN;
  if (ms < 1) return ms.toFixed(2) + " ms";
  if (ms < 1000) return Math.round(ms) + " ms";
  return ms < 60000 ? (ms / 1000).toFixed(1) + " s" : Math.floor(ms / 60000) + " min " + Math.round((ms % 60000) / 1000) + " s";
}

const usd = (value) => (known(value) ? "$" + (value >= 1 ? value.toFixed(2) : value ? value.toPrecision(2) : "0") : UNKNOWN);
const thousands = (value) => (known(value) ? Number(value).toLocaleString("en") : UNKNOWN);
const unknownOf = (rate) => (rate.unknown ? `, unknown for ${rate.unknown} of ${rate.n + rate.unknown}` : "");
const interval = (one) => (one ? percent(one.low) + " to " + percent(one.high) : "");

const RESULTS = { true: ["✓", "passed", "good"], false: ["✗", "failed", "bad"], null: ["?", "not known", "open"] };
const result = (passed) => RESULTS[known(passed) ? passed : null];

/** A mark that does not rest on its colour alone. */
function mark(passed, word) {
  const [sign, said, tone] = result(passed);
  return el("span", { class: "mark " + tone }, el("span", { "aria-hidden": "true" }, sign), " ", word || said);
}
