// A sweep: a slider for each parameter; frontier, lines, chosen point and allocation move together.

/** Places of the values of an axis: even where the values are, or where their logarithms are. */
function axisPlaces(values) {
  const even = (v) => {
    const gaps = v.slice(1).map((x, k) => x - v[k]);
    return Math.max(...gaps) <= 1.01 * Math.min(...gaps);
  };
  if (values.length > 2 && values.every(isNumber)) {
    if (even(values)) return values;
    if (values[0] > 0 && even(values.map(Math.log))) return values.map(Math.log);
  }
  return values.map((_, k) => k);
}

function valueWords(value) {
  return isNumber(value) ? num(value) : value === null ? "none" : clip(String(value), 60);
}

/** Shares of users along one axis, the other parameters as chosen. */
function linesPicture(sweep, axis, at, names) {
  const w = 620, h = 380, m = { left: 62, right: 110, top: 28, bottom: 46 };
  const { name, values } = sweep.axes[axis];
  const row = values.map((_, k) => sweep.find(at.map((v, j) => (j === axis ? k : v))));
  const there = row.filter((p) => p && p.shares.length);
  if (!there.length) return el("p", {}, "No point of this line has an answer.");
  const places = axisPlaces(values);
  const [low, high] = [places[0], places[places.length - 1]];
  const x = linear(low, high === low ? low + 1 : high, m.left, w - m.right);
  const most = Math.max(1e-300, ...there.flatMap((p) => chunks(p.shares)));
  const y = linear(0, most * 1.05, h - m.bottom, m.top);
  const every = Math.max(1, Math.ceil(values.length / 6));
  const long = values.some((value) => valueWords(value).length > 12); // too long for an axis: numbered
  const marks = places.map((v, k) => [v, long ? String(k + 1) : valueWords(values[k])]).filter((_, k) => k % every === 0 || k === places.length - 1);
  if (marks.length > 2 && x(marks[marks.length - 1][0]) - x(marks[marks.length - 2][0]) < 44) marks.splice(marks.length - 2, 1);
  const parts = axes(w, h, m, x, y, [name, "share"], { x: marks, y: ticks(0, most, 5) });
  parts.push(svg("line", { class: "cross", x1: x(places[at[axis]]), x2: x(places[at[axis]]), y1: m.top, y2: h - m.bottom }));
  const own = [...sweep.colour.entries()].sort((a, b) => a[1] - b[1]);
  const labels = [];
  for (const [n, k] of own) {
    let d = "", down = true;
    row.forEach((p, j) => {
      if (!p || !p.shares.length) down = true;
      else {
        d += (down ? "M" : "L") + x(places[j]) + " " + y(p.shares[n]);
        down = false;
      }
    });
    parts.push(svg("path", { class: "line l" + k, d }, hint(names.users[n])));
    const here = row[at[axis]];
    if (here && here.shares.length) parts.push(svg("circle", { class: "c" + k, cx: x(places[at[axis]]), cy: y(here.shares[n]), r: 4 }));
    const last = row[row.length - 1];
    if (last && last.shares.length) labels.push([y(last.shares[n]), k, names.users[n]]);
  }
  labels.sort((a, b) => a[0] - b[0]);
  // 14 apart: pushed down from the top, then up from the axis
  let free = -Infinity;
  for (const label of labels) {
    label[0] = Math.max(label[0] + 4, free);
    free = label[0] + 14;
  }
  free = h - m.bottom;
  for (const label of labels.slice().reverse()) {
    label[0] = Math.min(label[0], free);
    free = label[0] - 14;
  }
  for (const [here, k, user] of labels) {
    parts.push(svg("rect", { class: "c" + k, x: w - m.right + 8, y: here - 9, width: 9, height: 9 }));
    parts.push(svg("text", { class: "tick", x: w - m.right + 21, y: here }, clip(user, 13)));
  }
  const label = "Shares of " + own.length + " users against " + name + ", the other parameters as chosen; the tables below have the numbers of the chosen point.";
  return svg("svg", { class: "picture", viewBox: "0 0 " + w + " " + h, role: "img", "aria-label": label }, parts);
}

/** What is known of a point whose tasks by server were not kept. */
function totalsTable(sweep) {
  const state = { };
  let point = null;
  const made = table({ caption: "Users: tasks and shares at the chosen point", noun: "user", state,
    columns: [
      { head: "User", mark: true, sort: (n) => sweep.users[n].toLowerCase(), cell: (n) => sweep.users[n] },
      { head: "Tasks", number: true, sort: (n) => point.totals[n], cell: (n) => num(point.totals[n]) },
      { head: "Share", number: true, sort: (n) => point.shares[n], cell: (n) => num(point.shares[n]) },
      { head: "Share, drawn", wide: true, cell: (n) => el("td", { class: "wide drawn" }, shareBar(point, n, Math.max(1e-300, ...chunks(point.shares)))) },
      { head: "Level", number: true, sort: (n) => point.levels[n], cell: (n) => num(point.levels[n]) },
    ], text: (n) => sweep.users[n] });
  return { node: made.node, show(next) { point = next; made.show(point.shares.map((_, n) => n)); } };
}

function sweepPage(sweep) {
  const byPlace = new Map(sweep.points.map((p) => [p.at.join(","), p]));
  sweep.find = (at) => byPlace.get(at.join(","));
  sweep.label = (p) => sweep.axes.map((axis, k) => axis.name + " = " + valueWords(axis.values[p.at[k]])).join(", ");
  const measured = sweep.measures.filter((name) => sweep.points.some((p) => isNumber(p.measures[name])));
  const rated = measured.filter((name) => sweep.better[name]);
  const wide = sweep.points.filter((p) => p.amounts).map((p) => p.amounts);
  sweep.colour = wide.length ? coloured(sweep.names[0], wide) : new Map(sweep.users.slice(0, COLOURS).map((_, n) => [n, n]));
  let x = sweep.x, y = sweep.y, along = 0;
  let at = (sweep.points.find((p) => p.certified) || sweep.points[0]).at.slice();
  let view = null, viewed = null;
  const facts = el("p", { class: "chosen-point", role: "status" });
  const left = el("div", { class: "figure" }), right = el("div", { class: "figure" });
  const below = el("div", {});
  const totals = totalsTable(sweep);
  const rows = el("tbody", {});
  const measures = el("table", { class: "narrow" }, el("caption", {}, "Measures of the chosen point"),
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Measure"), el("th", { scope: "col", class: "number" }, "Value"))), rows);

  const sliders = sweep.axes.map((axis, k) => {
    const id = unique("slider");
    const output = el("output", { for: id });
    const input = el("input", { id, type: "range", min: 0, max: axis.values.length - 1, step: 1, "data-axis": axis.name,
      oninput: () => { at[k] = Number(input.value); along = k; draw(); } });
    return { input, output, node: el("div", { class: "slider" }, el("label", { for: id }, axis.name), input, output) };
  });

  function go(point) {
    at = point.at.slice();
    draw();
  }

  /** The next point of the frontier, by x. */
  function walk(step) {
    const best = pareto(sweep.points, x, y, sweep.better);
    if (!best.length) return;
    const here = best.indexOf(sweep.find(at));
    go(best[here < 0 ? (step > 0 ? 0 : best.length - 1) : Math.min(best.length - 1, Math.max(0, here + step))]);
  }

  function draw() {
    const point = sweep.find(at);
    sliders.forEach(({ input, output }, k) => {
      const words = valueWords(sweep.axes[k].values[at[k]]);
      input.value = at[k];
      input.setAttribute("aria-valuetext", words);
      output.textContent = words;
    });
    const told = point.verdict ? point.verdict + ", gap " + tiny(point.gap) + ", residual " + tiny(point.residual) : point.status + ": " + point.reason;
    facts.replaceChildren(el("strong", {}, sweep.label(point)), " – " + told);
    facts.className = "chosen-point " + (point.certified ? "good" : "open");
    rows.replaceChildren(...measured.map((name) => el("tr", {}, el("th", { scope: "row" }, sweep.words[name] || name),
      el("td", { class: "number", "data-measure": name }, num(point.measures[name])))));
    left.replaceChildren(rated.length > 1 ? frontierPicture(sweep, x, y, point, go) : el("p", {}, "These points have no measures."));
    right.replaceChildren(linesPicture(sweep, along, at, { users: sweep.users }));
    if (point.amounts) {
      if (!view || viewed !== point.names) {
        view = answerView(sweep.names[point.names], wide);
        view.colour = sweep.colour;
        viewed = point.names;
        below.replaceChildren(view.root);
      }
      view.show(point.amounts);
    } else if (point.shares.length) {
      view = null;
      below.replaceChildren(section("Users", sweep.kept ? null : el("p", { class: "small" },
        "The servers are not shown: their tasks are not in the file. Sweep again with --answers to keep them."), totals.node));
      totals.show(point);
    } else {
      view = null;
      below.replaceChildren(el("p", {}, "This point has no answer: " + point.reason));
    }
  }

  const pairs = rated.map((name) => [name, sweep.words[name] || name]);
  const node = el("div", {}, el("p", { class: "sub" }, sweep.subtitle),
    section("Choose a point", el("div", { class: "controls" }, sliders.map((slider) => slider.node)), facts,
      el("div", { class: "pair" },
        el("div", {}, el("h3", {}, "Frontier"), el("div", { class: "tools" },
          choice("Across", pairs, x, (value) => { x = value; draw(); }), choice("Up", pairs, y, (value) => { y = value; draw(); }),
          el("button", { type: "button", "aria-label": "Step back along the frontier", onclick: () => walk(-1) }, "Step back"),
          el("button", { type: "button", "aria-label": "Step on along the frontier", onclick: () => walk(1) }, "Step on")), left),
        el("div", {}, el("h3", {}, "Shares along one parameter"), el("div", { class: "tools" },
          choice("Along", sweep.axes.map((axis, k) => [String(k), axis.name]), "0", (value) => { along = Number(value); draw(); })), right)),
      el("details", {}, el("summary", {}, "Measures of the chosen point"), measures)),
    below);
  draw();
  return node;
}
