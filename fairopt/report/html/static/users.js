// Users: tasks, share with the interval that is proved, level, what stops each.

/** The share as a bar, with whiskers where the proof leaves it room. */
function shareBar(point, n, most) {
  const share = point.shares[n];
  const low = point.low ? point.low[n] : null, high = point.high ? point.high[n] : null;
  const place = (v) => Math.min(100, Math.max(0, (100 * v) / most)) + "%";
  const parts = [svg("rect", { class: "share", y: 3, height: 8, width: place(share) })];
  if (high !== null && low !== null) {
    parts.push(svg("line", { class: "whisker", x1: place(low), x2: place(high), y1: 7, y2: 7 }));
    for (const v of [low, high]) parts.push(svg("line", { class: "whisker", x1: place(v), x2: place(v), y1: 2, y2: 12 }));
  }
  return svg("svg", { class: "sharebar", width: "100%", height: 14, "aria-hidden": "true" }, parts);
}

/** The interval in words: how far from the share its ends are, or the ends where that is far. */
function interval(point, n) {
  if (!point.low) return "–";
  const low = point.low[n], high = point.high[n], share = point.shares[n];
  if (low === null || high === null) return low > 0 ? "at least " + num(low) : "any";
  if (!(share > 0)) return high > 0 ? "0 to " + num(high) : "0";
  const off = Math.max(high - share, share - low, 0) / share;
  if (off < 1e-12) return "± < 1e-12 of it";
  return off < 1e-3 ? "± " + tiny(off) + " of it" : num(low) + " to " + num(high);
}

function userTable(view) {
  const { names } = view;
  const point = () => view.point;
  let most = 1;
  const equal = () => point().totals.every((t, n) => t === point().shares[n]);
  const columns = [
    { head: "User", mark: true, sort: (n) => names.users[n].toLowerCase(),
      cell: (n) => el("button", { type: "button", class: "user", "data-pick": n, "aria-pressed": "false",
        onclick: () => pick(view, n) }, names.users[n]) },
  ];
  if (names.weight) columns.push({ head: "Weight", number: true, sort: (n) => names.weight[n], cell: (n) => num(names.weight[n]) });
  if (names.limit) {
    columns.push({ head: "Limit", number: true, sort: (n) => (names.limit[n] === null ? Infinity : names.limit[n]),
      cell: (n) => (names.limit[n] === null ? "–" : num(names.limit[n])) });
  }
  columns.push({ head: "Tasks", number: true, sort: (n) => point().totals[n], cell: (n) => num(point().totals[n]) });
  if (!equal()) columns.push({ head: "Share", number: true, sort: (n) => point().shares[n], cell: (n) => num(point().shares[n]) });
  columns.push({ head: "Share, drawn", wide: true, cell: (n) => el("td", { class: "wide drawn" }, shareBar(point(), n, most)) });
  if (view.point.low) columns.push({ head: "Proved interval", number: true, cell: (n) => interval(point(), n) });
  columns.push({ head: "Level", number: true, sort: (n) => point().levels[n], cell: (n) => num(point().levels[n]) });
  columns.push({ head: "Stopped by", wide: true, sort: (n) => point().stops[n], cell: (n) => point().stops[n] });
  const made = table({ caption: "Users: what each gets" + (equal() ? " (a share is a number of tasks here)" : ""),
    noun: "user", columns, text: (n) => names.users[n], state: view.state.users, drawn: () => mark(view) });
  return { node: made.node, show(rows) {
    const tops = point().high ? point().high.filter((v, n) => v !== null && v < 3 * point().shares[n]) : [];
    most = Math.max(1e-300, ...chunks(point().shares), ...chunks(tops));
    made.show(rows);
  } };
}

/** The largest of each thousand: a call with too many arguments fails. */
function chunks(values) {
  const found = [];
  for (let k = 0; k < values.length; k += 1000) found.push(Math.max(...values.slice(k, k + 1000)));
  return found;
}

/** What is known about the user that was picked. */
function userDetail(view) {
  const n = view.picked;
  view.detail.classList.toggle("empty", n === null || n === undefined);
  if (n === null || n === undefined) return [el("p", { class: "small" }, "Choose a user to see it alone in the bars, and where its tasks run.")];
  const { names, point } = view;
  const held = point.held[n];
  const more = point.places[n] - held.length;
  const facts = [
    names.users[n] + " has " + num(point.totals[n]) + " tasks on " + count(point.places[n], "server") + ".",
    "Its share is " + num(point.shares[n]) + (point.low ? " (proved interval: " + interval(point, n) + ")" : "")
      + ", its level " + num(point.levels[n]) + ".",
    point.stops[n] === "-" ? "Nothing that is known stops it." : "It is stopped by " + point.stops[n] + ".",
  ];
  const most = Math.max(1e-300, ...held.map((entry) => entry[1]));
  return [el("h3", {}, clip(names.users[n], 60)), facts.map((line) => el("p", {}, line)),
    el("table", { class: "narrow" }, el("caption", {}, "Where its tasks run" + (more > 0 ? ", the largest of " + point.places[n] : "")),
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Server"), el("th", { scope: "col", class: "number" }, "Tasks"),
        el("th", { scope: "col" }, "Drawn"))),
      el("tbody", {}, held.map(([i, tasks]) => el("tr", {}, el("th", { scope: "row" }, names.servers[i]),
        el("td", { class: "number" }, num(tasks)),
        el("td", { class: "drawn" }, svg("svg", { class: "sharebar", width: "100%", height: 14, "aria-hidden": "true" },
          svg("rect", { class: "share", y: 3, height: 8, width: (100 * tasks) / most + "%" }))))))),
    el("button", { type: "button", onclick: () => pick(view, n) }, "Show everybody again")];
}
