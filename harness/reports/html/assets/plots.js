// The four plots: success by category, failure modes by run, step efficiency, cost.
const RIGHT = 12;

function successPlot() {
  const groups = RUN.summary.categories;
  const others = new Map((OTHER ? OTHER.summary.categories : []).map((one) => [one.name, one]));
  const said = groups.map((one) => `${words(one.name)} ${percent(one.success.rate)} of ${one.success.n}${unknownOf(one.success)}`).join("; ");
  const rowHeight = OTHER ? 34 : 26;
  return plot("Success by category", [ "Share of trials, with 95 % Wilson intervals. ", legend()], said, (width) => {
    const left = Math.min(170, width * 0.4);
    const scale = (share) => left + share * (width - left - RIGHT - 4);
    const height = groups.length * rowHeight + 22;
    const grid = (width < 420 ? [0, 0.5, 1] : [0, 0.25, 0.5, 0.75, 1]).map((at) => [
      line(scale(at), 0, scale(at), height - 18, { class: "grid" }),
      label(scale(at), height - 4, percent(at), { class: "axis", "text-anchor": at === 1 ? "end" : at ? "middle" : "start" }),
    ]);
    const rows = groups.map((one, place) => {
      const y = place * rowHeight + rowHeight / 2;
      const other = others.get(one.name);
      const text = (run, group) => `${run.run}: ${group.success.successes} of ${group.success.n}, ${interval(group.success.interval)}${unknownOf(group.success)}`;
      return [
        label(0, y + 4, fitting(words(one.name), left - 34), { class: "name" }),
        label(left - 8, y + 4, one.success.n, { class: "axis", "text-anchor": "end" }),
        whisker(scale, OTHER ? y - 6 : y, one.success.rate, one.success.interval, false, text(RUN, one)),
        other ? whisker(scale, y + 6, other.success.rate, other.success.interval, true, text(OTHER, other)) : null,
      ];
    });
    return canvas(width, height, grid, rows);
  });
}

function failurePlot() {
  const runs = REPORT.releases.runs;
  const here = runs.findIndex((one) => one.run === RUN.run);
  const modes = choices(runs, (one) => Object.keys(one.modes));
  const share = (run, mode) => (run.measured ? (run.modes[mode] || 0) / run.measured : 0);
  const most = Math.max(0.05, ...runs.flatMap((run) => modes.map((mode) => share(run, mode))));
  const said = modes.length ? modes.map((mode) => `${words(mode)} ${runs[here]?.modes[mode] || 0} trials`).join("; ") : "none found";
  const note = runs.length > 1
    ? `Share of measured trials in which each was found, run by run, oldest first; full height is ${percent(most)}.`
    : "Trials in which each was found. With more runs of this suite in the same folder they stand side by side.";
  const figure = plot("Failure modes by release", note, said, (width) => (runs.length > 1 ? failureBars(width, runs, modes, { share, most, here }) : modeBars(width, runs[0], modes)));
  append(figure, [runs.length > 1 ? runKey(runs, here) : null]);
  return figure;
}

function failureBars(width, runs, modes, { share, most, here }) {
  const left = Math.min(170, width * 0.45);
  const slot = Math.min(46, (width - left - 44) / Math.max(1, runs.length));
  const tall = 34;
  const rows = modes.map((mode, place) => {
    const base = place * (tall + 8) + tall;
    const bars = runs.map((run, at) => {
      const height = Math.max(share(run, mode) ? 2 : 0, (share(run, mode) / most) * (tall - 4));
      const shape = { x: left + at * slot + 1, y: base - height, width: Math.max(3, slot - 3), height };
      return svg("g", { class: at === here ? "series-a" : "series-past" }, tip(`${run.run}: ${run.modes[mode] || 0} of ${run.measured}`), svg("rect", shape));
    });
    const now = here < 0 ? "" : `${runs[here].modes[mode] || 0}`;
    return [line(left, base + 0.5, left + slot * runs.length, base + 0.5, { class: "grid" }),
      label(0, base - 10, fitting(words(mode), left - 6), { class: "name" }), bars,
      label(left + slot * runs.length + 8, base - 4, now, { class: "name" })];
  });
  const numbers = runs.length > 1 ? runs.map((run, at) => label(left + at * slot + slot / 2, modes.length * (tall + 8) + 10, at + 1, { class: "axis", "text-anchor": "middle" })) : [];
  const empty = modes.length ? null : label(0, 20, "No failure mode was found.", { class: "name" });
  return canvas(width, Math.max(30, modes.length * (tall + 8) + 14), rows, numbers, empty);
}

/** One run alone: lying bars. */
function modeBars(width, run, modes) {
  const left = Math.min(170, width * 0.45);
  const most = Math.max(1, ...modes.map((mode) => run.modes[mode]));
  const rows = modes.map((mode, place) => {
    const y = place * 26;
    const long = (run.modes[mode] / most) * (width - left - 120);
    return [label(0, y + 16, fitting(words(mode), left - 6), { class: "name" }), svg("g", { class: "series-a" }, svg("rect", { x: left, y: y + 4, width: Math.max(2, long), height: 16 })),
      label(left + long + 8, y + 16, `${run.modes[mode]} (${percent(run.modes[mode] / run.measured)})`, { class: "axis" })];
  });
  return canvas(width, Math.max(30, modes.length * 26 + 4), rows, modes.length ? null : label(0, 20, "No failure mode was found.", { class: "name" }));
}

function runKey(runs, here) {
  const items = runs.map((run, at) => el("li", { class: at === here ? "here" : null }, run.run, " ", el("span", { class: "dim" }, `${run.label} · success ${percent(run.rate)}${run.unknown ? ` (unknown for ${run.unknown} of ${run.measured})` : ""}`)));
  const left = REPORT.releases.unreadable;
  return el("details", { class: "run-key", open: true }, el("summary", {}, `The ${runs.length} runs`), el("ol", {}, items),
    left.length ? el("p", {}, `Left out, for they cannot be read: ${left.join(", ")}`) : null);
}

const valuesOf = (run, pick) => run.rows.filter((row) => MEASURED.has(row.outcome)).map(pick).filter(known);

/** Bars of how many trials lie where; both runs on one scale. */
function histogram(title, note, pick, { bins, shown }) {
  const series = [RUN, OTHER].filter(Boolean).map((run) => valuesOf(run, pick));
  const all = series.flat();
  const { low, high } = bins(all);
  const count = 12;
  const width = (high - low) / count || 1;
  const counts = series.map((values) => {
    const found = Array(count).fill(0);
    for (const value of values) found[Math.max(0, Math.min(count - 1, Math.floor((value - low) / width)))]++;
    return found;
  });
  const means = series.map((values) => (values.length ? values.reduce((sum, one) => sum + one, 0) / values.length : null));
  const said = means.map((mean, at) => `${[RUN, OTHER][at].run}: mean ${shown(mean)} over ${series[at].length} trials`).join("; ");
  const top = Math.max(1, ...counts.flat());
  return plot(title, [note + " ", legend()], said, (room) => {
    const height = 130;
    const base = height - 18;
    const slot = (room - 30) / count;
    const bars = counts.map((found, at) => found.map((n, place) => n && svg("g", { class: at ? "series-b" : "series-a" },
      tip(`${[RUN, OTHER][at].run}: ${n} trials from ${shown(low + place * width)} to ${shown(low + (place + 1) * width)}`),
      svg("rect", { x: 26 + place * slot + (at * slot) / 2, y: base - (n / top) * (base - 12), width: Math.max(2, slot / series.length - 2), height: (n / top) * (base - 12) }))));
    const ticks = [0, count / 2, count].map((at) => label(26 + at * slot, height - 4, shown(low + at * width), { class: "axis", "text-anchor": at === count ? "end" : at ? "middle" : "start" }));
    const lines = means.map((mean, at) => known(mean) && line(26 + ((mean - low) / width) * slot, 4, 26 + ((mean - low) / width) * slot, base, { class: "mean " + (at ? "mean-b" : "mean-a") }));
    return canvas(room, height, line(26, base + 0.5, room - 4, base + 0.5, { class: "grid" }), label(20, 16, top, { class: "axis", "text-anchor": "end" }), bars, lines, ticks,
      all.length ? null : label(30, 60, "Not known for any trial.", { class: "name" }));
  });
}

function drawPlots() {
  const costs = valuesOf(RUN, (row) => row.cost);
  const tokens = valuesOf(RUN, (row) => row.tokens);
  const unit = { bins: (all) => ({ low: 0, high: Math.max(1, ...all) }), shown: (value) => number(value) };
  const open = (shown) => ({ bins: (all) => ({ low: 0, high: Math.max(1e-9, ...all.slice(0, 50000)) }), shown });
  const spent = costs.length ? ["Cost per trial", "US dollars; the line is the mean.", (row) => row.cost, open(usd)]
    : tokens.length ? ["Tokens per trial", "No price was told. The line is the mean.", (row) => row.tokens, open((value) => thousands(Math.round(value)))]
      : ["Tool calls per trial", "Neither cost nor tokens were seen. The line is the mean.", (row) => row.calls, { bins: (all) => ({ low: 0, high: Math.max(12, ...all) }), shown: (value) => number(value, 1) }];
  replaceChildren(byId("plots"), successPlot(), failurePlot(),
    histogram("Step efficiency", "Needed steps / steps made; the line is the mean.", (row) => row.efficiency, unit), histogram(...spent));
}
