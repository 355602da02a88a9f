// A run in flight: its figures follow the server's events. Where the connection breaks, the browser connects again.
const board = document.querySelector("[data-events]");
const part = (name) => document.querySelector(`[data-live="${name}"]`);
const write = (name, text) => {
  const node = part(name);
  if (node && node.textContent !== text) node.textContent = text;
};

function follow(state) {
  write("rate", state.rate);
  write("rate-under", state.interval || "no interval");
  write("done", `${state.done} of ${state.planned}`);
  write("done-under", `${state.succeeded} passed, ${state.failed} failed${state.unknown ? `, ${state.unknown} unknown` : ""}`);
  write("cost", state.cost);
  const bar = part("bar");
  if (bar) bar.value = state.done;
  trials(state.trials || []);
}

function trials(list) {
  const place = part("trials");
  if (!place) return;
  place.replaceChildren(
    ...list.map((one) => {
      const item = document.createElement("li");
      item.textContent = `${one.case} / ${one.attempt}: ${one.words}`;
      return item;
    }),
  );
}

if (board) {
  const source = new EventSource(board.dataset.events);
  source.onmessage = (event) => {
    const state = JSON.parse(event.data);
    if (state.problem) write("rate-under", state.problem);
    else follow(state);
  };
  source.addEventListener("end", () => {
    source.close();
    location.reload();
  });
}
