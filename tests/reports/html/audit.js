// What a reader could not name, not read, or not tell apart: an expression over the page as it stands.
(() => {
  const CONTROLS = "button, a[href], input, select, summary, dialog, table, section, [role=img], [role=region], tr[tabindex]";
  const TEXT_NAMES = "button, a, summary, .plain";

  function nameOf(one) {
    const by = one.getAttribute("aria-labelledby");
    const labelled = by && document.getElementById(by)?.textContent;
    const around = [...(one.labels ?? [])].map((label) => label.textContent).join(" ");
    return one.getAttribute("aria-label") || labelled || around || (one.matches(TEXT_NAMES) && one.textContent) || "";
  }

  const numbers = (colour) => colour.match(/[\d.]+/g).map(Number);
  const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
  const shine = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);

  function ground(node) {
    for (let one = node; one; one = one.parentElement) {
      const colour = numbers(getComputedStyle(one).backgroundColor);
      if (colour.length < 4 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  }

  function faint() {
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let text = walker.nextNode(); text; text = walker.nextNode()) {
      const own = text.parentElement;
      const drawn = own.checkVisibility({ visibilityProperty: true }) && !own.closest("script, style, svg, :disabled");
      if (!text.data.trim() || !drawn) continue;
      const [low, high] = [shine(numbers(getComputedStyle(own).color)), shine(ground(own))].sort((a, b) => a - b);
      const ratio = (high + 0.05) / (low + 0.05);
      if (ratio < 4.5) found.push(`${ratio.toFixed(2)} ${own.className} ${text.data.slice(0, 40)}`);
    }
    return found;
  }

  const shown = [...document.querySelectorAll(CONTROLS)].filter((one) => one.checkVisibility());
  const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
  return {
    unnamed: shown.filter((one) => !nameOf(one).trim()).map((one) => one.outerHTML.slice(0, 120)),
    faint: faint(),
    twice: ids.filter((id, at) => ids.indexOf(id) !== at),
  };
})();
