// Questions to a plan that is served: what a change would do, asked of the server of this page.

const KINDS = {
  set: ["Set", "weight.ml=2"],
  drop: ["Take away", "node/gpu-1"],
  add: ["Add a team", "team=new,queue=ml,tasks=4,cpu=4"],
  add_server: ["Add nodes of a shape", "big=3"],
};

/** Load the page anew once the server has another plan; say why while it cannot have one. */
function follow(version, place) {
  setInterval(async () => {
    try {
      const told = await (await fetch("api/state")).json();
      if (told.version !== version) location.reload();
      place.textContent = told.fault ? "The file has changed, and cannot be planned: " + told.fault : "";
    } catch (error) {
      place.textContent = "The server does not answer.";
    }
  }, 2000);
}

/** Of the plan of this number, the form, and the table of who loses and who gains. */
function askSection(version) {
  const state = { kind: "set", changes: [] };
  const said = el("p", { class: "status", role: "status" }, "Nothing is asked yet.");
  const list = el("ul", { class: "changes" });
  const text = el("input", { type: "search", "aria-label": "Change", placeholder: KINDS.set[1],
    onkeydown: (event) => { if (event.key === "Enter") put(); } });
  const kind = choice("Change", Object.entries(KINDS).map(([key, [words]]) => [key, words]), "set", (value) => {
    state.kind = value;
    text.placeholder = KINDS[value][1];
  });
  const part = (row) => (row.before === null ? "new" : row.after === null ? "gone"
    : row.before === 0 ? (row.after === 0 ? "0%" : "from nothing") : percent((row.after - row.before) / row.before));
  const number = (head, key) => ({ head, number: true, least: true, sort: (row) => row[key] ?? -1, cell: (row) => num(row[key]) });
  const users = table({ caption: "Who gets less, and who more", noun: "workload", text: (row) => row.user, state: {}, columns: [
    { head: "Workload", mark: true, sort: (row) => row.user, cell: (row) => row.user },
    number("Before", "before"), number("After", "after"), { head: "Change", number: true, cell: part },
  ] });
  const place = el("div", { hidden: true }, users.node);
  const moving = el("p", { class: "status", role: "status" });

  function put() {
    if (!text.value.trim()) return;
    state.changes.push([state.kind, text.value.trim()]);
    text.value = "";
    draw();
    ask();
  }

  function draw() {
    list.replaceChildren(...state.changes.map(([key, words], k) => el("li", {}, KINDS[key][0] + " " + words + " ",
      el("button", { type: "button", "aria-label": "Without " + words, onclick: () => {
        state.changes.splice(k, 1);
        draw();
        ask();
      } }, "×"))));
  }

  async function ask() {
    place.hidden = true;
    moving.textContent = "";
    const changes = state.changes.slice();
    if (!changes.length) {
      said.textContent = "Nothing is asked yet.";
      return;
    }
    const question = {};
    for (const [key, words] of changes) (question[key] = question[key] || []).push(words);
    said.textContent = "Is worked out …";
    let words;
    let rows = null;
    try {
      const answer = await fetch("api/what-if", { method: "POST", body: JSON.stringify(question) });
      const told = await answer.json();
      if (answer.ok) rows = told.users;
      else words = told.error;
    } catch (error) {
      words = "The server does not answer.";
    }
    if (JSON.stringify(changes) !== JSON.stringify(state.changes)) return; // asked again since
    if (rows) {
      const moved = rows.filter((row) => !(Math.abs(row.relative) <= 1e-6)); // "inf" is more, too
      const less = moved.filter((row) => row.after === null || (row.before !== null && row.after < row.before)).length;
      words = count(less, "workload") + " with less, " + (moved.length - less) + " with more, " + (rows.length - moved.length) +
        " with the same. Both answers are certified.";
      users.show(moved);
      place.hidden = !moved.length;
    }
    said.textContent = words;
    if (rows) await askMoves(question, changes);
  }

  /** What stops and starts, below who loses: asked second, as it may take longer. */
  async function askMoves(question, changes) {
    let words = "";
    moving.textContent = "What moves is worked out …";
    try {
      const answer = await fetch("api/moves", { method: "POST", body: JSON.stringify(question) });
      const told = await answer.json();
      words = answer.ok
        ? num(told.stopped) + " tasks stop and " + num(told.started) + " start, if as many as can stay where the plan has them" +
          (told.least === null ? "." : "; no fair answer stops and starts fewer than " + num(told.least) + " together.")
        : told.error;
    } catch (error) {
      words = "The server does not answer.";
    }
    if (JSON.stringify(changes) === JSON.stringify(state.changes)) moving.textContent = words;
  }

  const followed = el("p", { class: "status", role: "status" });
  follow(version, followed);
  return section("What if", el("div", { class: "tools" }, kind, text, el("button", { type: "button", onclick: put }, "Ask")), list, said, place, moving, followed);
}
