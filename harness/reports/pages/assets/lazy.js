// Parts that are loaded when they are asked for, and commands that are copied.
async function load(button) {
  button.disabled = true;
  try {
    const answer = await fetch(button.dataset.load, { headers: { Accept: "text/html" } });
    // A part is made by the server as every page is: escaped. It is parsed without running anything.
    const part = new DOMParser().parseFromString(await answer.text(), "text/html");
    const nodes = [...(answer.ok ? part.body : part.querySelector("main") || part.body).childNodes];
    const place = button.closest(button.dataset.under || "[data-part]");
    if (answer.ok && button.dataset.into !== "after") place.replaceWith(...nodes);
    else show(button, place, nodes);
  } catch {
    button.disabled = false;
    button.textContent = "Not loaded: try again";
  }
}

function show(button, place, nodes) {
  const box = document.createElement("div");
  box.append(...nodes);
  (place || button.parentElement).append(box);
  button.remove();
}

async function copy(button) {
  await navigator.clipboard.writeText(button.dataset.copy);
  button.textContent = "Copied";
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button?.dataset.load) load(button);
  else if (button?.dataset.copy) copy(button);
});
