// A replay: what is owed over time, by user; what each held and was due, slice by slice.

const INKS = [0, 1, 2, 3, 4, 5, 6].map((k) => "var(--c" + k + ")");
const DRAWN = 7;

/** Lines over time; lines: [{name, y}], x in hours. */
function overTime(lines, x, words, label) {
  const w = 760, h = 300, m = { left: 70, right: 120, top: 26, bottom: 42 };
  const every = lines.flatMap((line) => line.y);
  const low = Math.min(0, ...every), high = Math.max(0, ...every, low + 1e-12);
  const px = linear(x[0], x[x.length - 1], m.left, w - m.right);
  const py = linear(low, high, h - m.bottom, m.top);
  const at = { x: ticks(x[0], x[x.length - 1], 6).map((v) => [v, tickWords(v)]), y: ticks(low, high, 5) };
  const parts = axes(w, h, m, px, py, words, at);
  lines.forEach((line, k) => {
    const points = line.y.map((value, t) => px(x[t]).toFixed(1) + "," + py(value).toFixed(1)).join(" ");
    parts.push(svg("polyline", { points, fill: "none", stroke: INKS[k % INKS.length], "stroke-width": 1.8 }, hint(line.name)));
    parts.push(svg("line", { x1: w - m.right + 8, x2: w - m.right + 24, y1: m.top + 18 * k, y2: m.top + 18 * k,
      stroke: INKS[k % INKS.length], "stroke-width": 3 }));
    parts.push(svg("text", { class: "tick", x: w - m.right + 28, y: m.top + 18 * k + 4 }, clip(line.name, 13)));
  });
  return svg("svg", { class: "picture", viewBox: "0 0 " + w + " " + h, role: "img", "aria-label": label }, parts);
}

function replayPage(result) {
  const { users, starts, hours, ratios } = result;
  const ends = starts.map((t) => t + hours);
  const last = (user) => user.debt[user.debt.length - 1];
  const most = [...users].sort((a, b) => Math.abs(last(b)) - Math.abs(last(a))).slice(0, DRAWN);
  const sum = (row) => row.reduce((a, b) => a + b, 0) * hours;
  const debts = overTime(most.map((user) => ({ name: user.name, y: user.debt })), ends,
    ["hours", "owed (" + result.unit + ")"], "What is owed over time; the table below says how much at the end.");
  const one = el("div", {});

  function show(name) {
    const user = users.find((each) => each.name === name);
    const lines = [["held", "held"], ["by the slice", "alone"], ["by the ledger", "ledger"], ["in hindsight", "hindsight"]]
      .map(([words, key]) => ({ name: words, y: user[key] }));
    one.replaceChildren(overTime(lines, ends, ["hours", result.at_once + " at once"], (result.at_once === "tasks" ? "Tasks" : "Output") + " of " + name + " in each slice, held and due."));
  }

  const number = (head, value) => ({ head, number: true, sort: value, cell: (user) => num(Math.abs(value(user)) < 1e-9 ? 0 : value(user)) });
  const made = table({ caption: "Users, in " + result.unit + (result.at_once === "tasks" ? "" : ", wanted and run in task-hours"), noun: "user", text: (user) => user.name, state: {}, columns: [
    { head: "User", mark: true, sort: (user) => user.name, cell: (user) => user.name },
    number("Wanted", (user) => sum(user.wants)),
    ...(result.at_once === "tasks" ? [] : [number("Run", (user) => sum(user.held_tasks))]), number("Held", (user) => sum(user.held)),
    number("Due by the slice", (user) => sum(user.alone)), number("Due by " + result.policy, (user) => sum(user.ledger)),
    number("Due in hindsight", (user) => sum(user.hindsight)), number("Owed at the end", last),
    number("At the worst", (user) => Math.max(0, ...user.debt)),
  ] });
  made.show([...users].sort((a, b) => last(b) - last(a)));
  const names = { held: "What was held", alone: "Each slice alone", ledger: result.policy };
  if (users.length) show(most[0].name);
  return el("div", {}, el("p", { class: "sub" }, result.subtitle),
    section("What is owed", debts, made.node,
      el("ul", {}, Object.entries(ratios).filter(([, ratio]) => ratio !== null)
        .map(([key, ratio]) => el("li", {}, names[key] + " reached " + percent(ratio) + " of hindsight."))),
      result.said.length ? el("ul", { class: "small" }, result.said.map((line) => el("li", {}, line))) : null),
    section("One user over time", choice("User", users.map((user) => [user.name, user.name]), most.length ? most[0].name : "", show), one));
}
