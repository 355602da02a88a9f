// Answers are sent without leaving the page. A comment that was not sent is kept by the browser.
const kept = (form) => `comment ${form.getAttribute("action")}`;

function begin() {
  for (const form of document.querySelectorAll("form.answers")) {
    const draft = localStorage.getItem(kept(form));
    if (draft !== null) form.querySelector("[data-kept]").value = draft;
  }
  document.querySelector("form.answers[data-open]")?.focus();
}

async function send(form, button) {
  const fields = new URLSearchParams(new FormData(form, button));
  const answer = await fetch(form.action, { method: "POST", body: fields });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (!answer.ok) throw new Error(page.querySelector(".alert")?.textContent);
  localStorage.removeItem(kept(form));
  if (new URL(answer.url).pathname !== location.pathname) return location.assign(answer.url);
  for (const part of [".progress", ".pager", ".criteria"]) document.querySelector(part).replaceWith(page.querySelector(part));
  begin();
}

document.addEventListener("input", (event) => {
  if (event.target.matches("[data-kept]")) localStorage.setItem(kept(event.target.form), event.target.value);
});
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches("form.answers")) return;
  event.preventDefault();
  send(form, event.submitter).catch((error) => {
    form.querySelector("[role=status]").textContent = error.message || "Not saved: try again";
  });
});
begin();
