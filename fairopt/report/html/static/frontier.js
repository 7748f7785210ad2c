// The trade-off between two measures: every point of the sweep, its frontier, the chosen one.

/** Certified points that no other certified point beats in both measures, by x and then y. */
function pareto(points, x, y, better) {
  const sign = (name) => (better[name] === "lowest" ? 1 : -1);
  const there = points.filter((p) => p.certified && isNumber(p.measures[x]) && isNumber(p.measures[y]));
  const at = there.map((p) => [sign(x) * p.measures[x], sign(y) * p.measures[y], p]);
  at.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const found = [];
  let least = Infinity, where = Infinity;
  for (const [a, b, p] of at) {
    if (b < least || (b === least && a === where)) {
      found.push(p);
      least = b;
      where = a;
    }
  }
  return found.sort((p, q) => p.measures[x] - q.measures[x] || p.measures[y] - q.measures[y]);
}

function isNumber(x) {
  return typeof x === "number";
}

/** The picture. `choose(point)` is called for a point that is clicked. */
function frontierPicture(sweep, x, y, chosen, choose) {
  const w = 620, h = 380, m = { left: 74, right: 18, top: 28, bottom: 46 };
  const there = sweep.points.filter((p) => isNumber(p.measures[x]) && isNumber(p.measures[y]));
  if (!there.length) return el("p", {}, "No point has both measures.");
  const best = pareto(sweep.points, x, y, sweep.better);
  const on = new Set(best);
  const [xl, xh] = ends(there.map((p) => p.measures[x]), 0.06), [yl, yh] = ends(there.map((p) => p.measures[y]), 0.08);
  const px = linear(xl, xh, m.left, w - m.right), py = linear(yl, yh, h - m.bottom, m.top);
  const words = (name) => sweep.words[name] || name;
  const parts = axes(w, h, m, px, py, [words(x), words(y)],
    { x: ticks(xl, xh, 5).map((v) => [v, tickWords(v)]), y: ticks(yl, yh, 5) });
  // between two points only the worse value of both is known to be reachable: steps, no slopes
  let path = "";
  best.forEach((p, k) => {
    const [a, b] = [px(p.measures[x]), py(p.measures[y])];
    if (k === 0) path += "M" + a + " " + b;
    else path += sweep.better[x] === "lowest" ? "H" + a + "V" + b : "V" + b + "H" + a;
  });
  if (best.length > 1) parts.push(svg("path", { class: "frontier", d: path }));
  for (const p of there) {
    const kind = on.has(p) ? "dot best" : p.certified ? "dot" : "dot open";
    parts.push(svg("circle", { class: kind, cx: px(p.measures[x]), cy: py(p.measures[y]), r: on.has(p) ? 4.5 : 3.5,
      onclick: () => choose(p) }, hint(sweep.label(p) + ": " + num(p.measures[x]) + ", " + num(p.measures[y]))));
  }
  if (isNumber(chosen.measures[x]) && isNumber(chosen.measures[y])) {
    const [a, b] = [px(chosen.measures[x]), py(chosen.measures[y])];
    parts.push(svg("line", { class: "cross", x1: a, x2: a, y1: m.top, y2: h - m.bottom }));
    parts.push(svg("line", { class: "cross", x1: m.left, x2: w - m.right, y1: b, y2: b }));
    parts.push(svg("circle", { class: "ring", cx: a, cy: b, r: 9 }));
    parts.push(svg("circle", { class: "chosen", cx: a, cy: b, r: 4.5 }));
  }
  const label = words(y) + " against " + words(x) + ": " + count(there.length, "point") + ", " + best.length
    + " on the frontier; chosen is " + sweep.label(chosen) + " at " + num(chosen.measures[x]) + ", " + num(chosen.measures[y]) + ".";
  return svg("svg", { class: "picture", viewBox: "0 0 " + w + " " + h, role: "img", "aria-label": label }, parts);
}
