"use strict";
(() => {
  const token = new URLSearchParams(location.search).get("token") || "";
  const at = (id) => document.getElementById(id);
  const words = { pass: "pass", fail: "fail", not_eligible: "does not apply", unsure: "cannot be told" };
  const LONG = 1800;
  let queue = { places: [] };
  let shown = null;
  let saving = Promise.resolve();

  async function ask(path, body) {
    const options = { headers: { "X-Token": token }, cache: "no-store" };
    if (body !== undefined) {
      options.method = "POST";
      options.headers["Content-Type"] = "application/json";
      options.body = JSON.stringify(body);
    }
    const response = await fetch(path, options);
    const told = await response.json();
    if (!response.ok) throw new Error(told.error || `status ${response.status}`);
    return told;
  }

  function alarm(text) {
    at("alert").textContent = text;
    at("alert").hidden = !text;
  }

  function element(name, className, text) {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function named(target, name, text) {
    target.replaceChildren();
    if (text) target.append(element("b", "", `${name} `), text);
  }

  function piece(one) {
    const item = element("li", one.kind);
    const who = element("div", "who");
    who.append(element("span", "", one.who), element("span", "", one.ref));
    const said = element("pre", "said", one.text.length > LONG ? one.text.slice(0, LONG) + " …" : one.text);
    item.append(who, said);
    if (one.text.length > LONG) {
      const more = element("button", "quiet more", `Show all ${one.text.length} characters`);
      more.type = "button";
      more.addEventListener("click", () => { said.textContent = one.text; more.remove(); });
      item.append(more);
    }
    return item;
  }

  function progress() {
    const total = queue.places.length;
    const done = queue.places.filter((place) => place.answer).length;
    at("bar").max = Math.max(1, total);
    at("bar").value = done;
    at("count").textContent = `${done} of ${total}`;
    at("open").disabled = done === total;
    return total - done;
  }

  function pressed() {
    for (const button of document.querySelectorAll("[data-answer]")) {
      button.setAttribute("aria-pressed", String(shown !== null && button.dataset.answer === shown.answer));
      button.disabled = shown === null || (button.dataset.answer === "not_eligible" && !shown.eligibility);
    }
  }

  function show(question) {
    shown = question;
    const facts = at("facts");
    facts.replaceChildren(
      element("span", "", `${question.number + 1} of ${queue.places.length}`),
      element("span", "", question.case + (question.attempt > 1 ? `, attempt ${question.attempt}` : "")),
      element("span", "", `${question.domain}: ${question.criterion}`),
    );
    if (question.critical) facts.append(element("span", "critical", "critical"));
    if (question.about) facts.append(element("span", "", question.about));
    at("statement").textContent = question.statement;
    named(at("fails"), "Fails when:", question.fail);
    named(at("applies"), "Applies when:", question.eligibility);
    at("others").replaceChildren(...question.others.map((other, place) => {
      const box = element("div");
      box.append(element("b", "", `${"AB"[place] || place + 1}: ${words[other.answer]}`));
      if (other.note) box.append(element("p", "", other.note));
      return box;
    }));
    at("others").hidden = !question.others.length;
    at("pieces").replaceChildren(...question.evidence.map(piece));
    const pieces = question.evidence.length;
    at("amount").textContent = pieces ? `${pieces} ${pieces === 1 ? "piece" : "pieces"}` : "nothing: the transcript holds none of what this criterion looks at";
    at("note").value = question.note;
    at("previous").disabled = question.number === 0;
    at("next").disabled = question.number + 1 === queue.places.length;
    pressed();
    history.replaceState(null, "", `#${question.number + 1}`);
    window.scrollTo(0, 0);
    at("question").focus({ preventScroll: true });
    document.documentElement.dataset.shown = String(question.number);
  }

  async function go(number) {
    if (number < 0 || number >= queue.places.length) return;
    await noteKept();
    try {
      show(await ask(`/api/question/${number}`));
      alarm("");
    } catch (error) {
      alarm(`This question could not be read: ${error.message}`);
    }
  }

  function nextOpen(after) {
    const places = queue.places;
    for (let step = 1; step <= places.length; step += 1) {
      const number = (after + step) % places.length;
      if (!places[number].answer) return number;
    }
    return -1;
  }

  async function save(question, answer, note) {
    await ask(`/api/question/${question.number}`, { answer, note });
    question.answer = answer;
    question.note = note.trim();
    queue.places[question.number].answer = answer;
  }

  function inTurn(action) {
    saving = saving.then(action, action);
    return saving;
  }

  function answer(given) {
    return inTurn(async () => {
      const question = shown;
      if (!question || (given === "not_eligible" && !question.eligibility)) return;
      const first = !question.answer;
      try {
        await save(question, given, at("note").value);
      } catch (error) {
        alarm(`NOT SAVED: ${error.message}. Is the command still running? Your answer is on this page only; answer again.`);
        return;
      }
      alarm("");
      pressed();
      const left = progress();
      at("status").textContent = `Saved: ${words[given]}. ${left ? `${left} open` : "All are answered"}.`;
      if (!first) return;
      const next = nextOpen(question.number);
      if (next >= 0) await go(next);
      else alarm("All questions are answered. You can still go back, or finish.");
    });
  }

  async function noteKept() {
    const question = shown;
    if (!question || !question.answer || at("note").value.trim() === question.note) return;
    try {
      await save(question, question.answer, at("note").value);
      at("status").textContent = "Comment saved.";
    } catch (error) {
      alarm(`The comment was NOT SAVED: ${error.message}`);
    }
  }

  function help() {
    at("help").hidden = !at("help").hidden;
    at("keys").setAttribute("aria-expanded", String(!at("help").hidden));
  }

  async function finish() {
    await inTurn(noteKept);
    try {
      await ask("/api/finish", {});
      document.querySelector("main").hidden = true;
      at("answers").hidden = true;
      alarm("Finished: everything is written. This page can be closed; run the command again to go on.");
      document.documentElement.dataset.finished = "true";
    } catch (error) {
      alarm(`Could not finish: ${error.message}. What was answered is written.`);
    }
  }

  const turn = (by) => inTurn(() => go(shown === null ? 0 : shown.number + by));
  const jump = () => inTurn(() => go(nextOpen(shown === null ? -1 : shown.number)));
  const keys = {
    p: () => answer("pass"), f: () => answer("fail"), n: () => answer("not_eligible"), u: () => answer("unsure"),
    j: () => turn(1), ArrowRight: () => turn(1), k: () => turn(-1), ArrowLeft: () => turn(-1),
    o: jump, c: () => at("note").focus(), "?": help,
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.target === at("note")) {
      if (event.key === "Escape") { at("note").blur(); at("question").focus({ preventScroll: true }); }
      return;
    }
    const action = keys[event.key];
    if (!action || (event.repeat && "pfnu".includes(event.key))) return;
    event.preventDefault();
    action();
  });
  for (const button of document.querySelectorAll("[data-answer]")) {
    button.addEventListener("click", () => answer(button.dataset.answer));
  }
  at("answers").addEventListener("submit", (event) => event.preventDefault());
  at("note").addEventListener("blur", () => inTurn(noteKept));
  at("previous").addEventListener("click", () => turn(-1));
  at("next").addEventListener("click", () => turn(1));
  at("open").addEventListener("click", jump);
  at("keys").addEventListener("click", help);
  at("finish").addEventListener("click", finish);

  async function begin() {
    const wanted = Number(location.hash.slice(1)) - 1;
    try {
      queue = await ask("/api/queue");
    } catch (error) {
      alarm(`The questions could not be read: ${error.message}`);
      return;
    }
    const doing = queue.role === "adjudicator" ? "adjudicates" : "labels";
    at("title").textContent = `${queue.annotator} ${doing} ${queue.rubric}`;
    document.title = at("title").textContent;
    const left = progress();
    if (!queue.places.length) {
      document.querySelector("main").hidden = true;
      at("answers").hidden = true;
      alarm(queue.role === "adjudicator" ? "Nothing is contested." : "There is nothing left to label.");
    } else if (wanted >= 0 && wanted < queue.places.length) await go(wanted);
    else await go(left ? nextOpen(-1) : 0);
    document.documentElement.dataset.ready = "true";
  }
  begin();
})();
