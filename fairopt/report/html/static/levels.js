// Levels as a staircase: users from the lowest level up, equal ones as one step.

/** Steps in increasing order: level, users, what stops them. */
function steps(point) {
  const order = point.levels.map((_, n) => n).sort((a, b) => point.levels[a] - point.levels[b] || a - b);
  const found = [];
  let same = [];
  for (const n of order) {
    const level = point.levels[n];
    if (!same.length || level - same[0].level > 1e-6 * Math.max(level, 1e-300)) {
      found.push(...same);
      same = [];
    }
    const step = same.find((one) => one.stop === point.stops[n]);
    if (step) step.users.push(n);
    else same.push({ level, stop: point.stops[n], users: [n] });
  }
  found.push(...same);
  return found;
}

function staircase(view, found) {
  const w = 760, h = 260, m = { left: 62, right: 12, top: 26, bottom: 42 };
  const size = view.names.users.length;
  const top = Math.max(...found.map((step) => step.level)) || 1;
  const x = linear(0, size, m.left, w - m.right);
  const y = linear(0, top * 1.04, h - m.bottom, m.top);
  const at = { x: ticks(0, size, 6).filter((v) => Number.isInteger(v)).map((v) => [v, v.toLocaleString("en")]),
    y: ticks(0, top, 4) };
  const parts = axes(w, h, m, x, y, ["users, from the lowest level up", "level (share / weight)"], at);
  let from = 0;
  const gap = size <= 60 ? 1 : 0;
  found.forEach((step, k) => {
    const left = x(from), width = Math.max(x(from + step.users.length) - left - gap, 0.4);
    const words = "level " + num(step.level) + ", " + count(step.users.length, "user") + ", stopped by " + step.stop;
    parts.push(svg("rect", { class: "step s" + (k % 2), x: left, width, y: y(step.level),
      height: Math.max(y(0) - y(step.level), 0) }, hint(words)));
    parts.push(svg("line", { class: "edge", x1: left, x2: left + width, y1: y(step.level), y2: y(step.level) }));
    if (width > 16 && found.length <= 40) {
      parts.push(svg("text", { class: "tick", x: left + width / 2, y: y(step.level) - 5, "text-anchor": "middle" }, k + 1));
    }
    from += step.users.length;
  });
  const label = "Staircase of " + count(found.length, "level") + " from " + num(found[0].level) + " to "
    + num(found[found.length - 1].level) + "; the table below says the same.";
  return svg("svg", { class: "picture", viewBox: "0 0 " + w + " " + h, role: "img", "aria-label": label }, parts);
}

function someUsers(view, users) {
  const first = users.slice(0, 6).map((n) => clip(view.names.users[n], 24)).join(", ");
  return users.length > 6 ? first + " and " + (users.length - 6).toLocaleString("en") + " more" : first;
}

function levelTable(view) {
  return table({ caption: "Levels: the steps of the staircase, and what stops their users", noun: "step", page: 10,
    columns: [
      { head: "Step", number: true, least: true, sort: (step) => step.k, cell: (step) => String(step.k) },
      { head: "Level", number: true, sort: (step) => step.level, cell: (step) => num(step.level) },
      { head: "Users", number: true, sort: (step) => step.users.length, cell: (step) => step.users.length.toLocaleString("en") },
      { head: "Who", wide: true, cell: (step) => someUsers(view, step.users) },
      { head: "Stopped by", wide: true, sort: (step) => step.stop, cell: (step) => step.stop },
    ],
    text: (step) => step.stop + " " + step.users.map((n) => view.names.users[n]).join(" "),
    state: view.state.levels });
}
