// The frame of a plot: a caption, what it says in words, and a drawing made anew for each width.
const redraw = new ResizeObserver((entries) => {
  for (const entry of entries) {
    const width = Math.floor(entry.contentRect.width);
    if (width > 40 && entry.target.drawnAt !== width) {
      entry.target.drawnAt = width;
      entry.target.replaceChildren(entry.target.draw(width));
    }
  }
});

/** `said` is the plot in words, for those who do not see it; `draw(width)` gives an SVG element. */
function plot(title, note, said, draw) {
  const place = el("div", { class: "drawing" });
  place.draw = (width) => {
    const drawing = draw(width);
    drawing.setAttribute("role", "img");
    drawing.setAttribute("aria-label", visible(title + ". " + said));
    return drawing;
  };
  redraw.observe(place);
  return el("figure", {}, el("figcaption", {}, el("h3", {}, title), note ? el("p", {}, note) : null), place);
}

const canvas = (width, height, ...children) =>
  svg("svg", { width, height, viewBox: `0 0 ${width} ${height}` }, ...children);
const label = (x, y, text, props) => svg("text", { x, y, ...props }, text);
const line = (x1, y1, x2, y2, props) => svg("line", { x1, y1, x2, y2, ...props });
const tip = (text) => svg("title", {}, text);

/** Text that fits into `width` pixels of the small font. */
function fitting(text, width) {
  const most = Math.max(3, Math.floor(width / 6.6));
  return text.length <= most ? text : text.slice(0, most - 1) + "…";
}

function legend() {
  if (!OTHER) return null;
  return el("span", { class: "legend" }, el("span", { class: "key-a" }, "● ", RUN.run), " ", el("span", { class: "key-b" }, "■ ", OTHER.run));
}

/** A dot in a whisker on a scale from 0 to 1; the other run's is a square, so that colour is not needed. */
function whisker(scale, y, rate, interval, second, text) {
  if (!known(rate)) return null;
  const x = scale(rate);
  return svg("g", { class: second ? "series-b" : "series-a" }, tip(text),
    interval ? line(scale(interval.low), y, scale(interval.high), y, { class: "whisker" }) : null,
    second ? svg("rect", { x: x - 4, y: y - 4, width: 8, height: 8 }) : svg("circle", { cx: x, cy: y, r: 4.5 }));
}
