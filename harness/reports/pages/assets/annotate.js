// A comment that was typed and not sent: leaving the page asks first.
const form = document.querySelector("form.answers");
let sending = false;

form.addEventListener("submit", () => {
  sending = true;
});
window.addEventListener("beforeunload", (event) => {
  const note = form.querySelector("[data-kept]");
  if (!sending && note.value.trim() !== note.defaultValue.trim()) event.preventDefault();
});
