// One answer: certificate, servers, levels, users.

function newState() {
  return { servers: {}, levels: {}, users: {} };
}

/** A view of one answer after another with the same names; `show(point)` draws the next. */
function answerView(names, points) {
  const view = { names, point: points[0], colour: coloured(names, points), state: newState(), picked: null };
  const size = names.users.length;
  if (size > PAGE) view.state.users = { by: 1 + Number(Boolean(names.weight)) + Number(Boolean(names.limit)), down: true };
  const servers = serverTable(view), users = userTable(view), levels = levelTable(view);
  const picture = el("div", { class: "figure" });
  const detail = el("div", { class: "detail", "aria-live": "polite" });
  const summary = el("p", { class: "summary" });
  const rules = el("div", {});
  view.detail = detail;
  view.told = () => detail.replaceChildren(...userDetail(view).flat());
  view.root = el("div", { class: "view" },
    section("Servers", summary, legend(view), servers.node, view.point.prices ? heatLegend() : null),
    view.point.rules ? section("Own rules", rules) : null,
    section("Levels", el("p", { class: "small" }, "A level is a user's share divided by its weight."), scroller("Staircase of levels", picture), levels.node),
    section("Users", users.node, detail));
  view.show = (point) => {
    view.point = point;
    const found = steps(point);
    found.forEach((step, k) => { step.k = k + 1; });
    summary.textContent = summed(view);
    if (point.rules) rules.replaceChildren(...ruleTable(point.rules));
    picture.replaceChildren(staircase(view, found));
    servers.show(names.servers.map((_, i) => i));
    levels.show(found);
    users.show(names.users.map((_, n) => n));
    view.told();
    mark(view);
  };
  view.show(view.point);
  return view;
}

function summed({ names, point }) {
  const full = point.used.flat().filter((part) => part !== null && part > 1 - 1e-6).length;
  const there = point.used.flat().filter((part) => part !== null).length;
  const machines = names.count ? names.count.reduce((a, b) => a + b, 0) : names.servers.length;
  const rows = count(names.servers.length, "server")
    + (machines > names.servers.length ? " (" + machines.toLocaleString("en") + " machines)" : "");
  const words = count(names.users.length, "user") + " on " + rows + ", " + count(names.resources.length, "resource") + ". "
    + full + " of " + count(there, "resource") + " of servers " + (full === 1 ? "is" : "are") + " full.";
  return names.users.length > COLOURS ? words + " Colours are those of the users that take most; in each bar the largest come first." : words;
}

function heatLegend() {
  return el("p", { class: "small heatkey" }, "Prices are of one more unit. The stronger the colour, the more an average machine's worth costs: nothing ",
    Array.from({ length: 10 }, (_, k) => svg("svg", { class: "chip", width: 16, height: 12, "aria-hidden": "true" },
      svg("rect", { width: 16, height: 12, class: "h" + k }))), " dearest.");
}

/** What own rules count, their prices, and what one more unit is worth. */
function ruleTable(found) {
  return [found.said.map((line) => el("p", {}, line)),
    scroller("Own rules", el("table", {}, el("caption", {}, "Own rules: what each says and counts" + (found.more ? ", without " + found.more + " more" : "")),
      el("thead", {}, el("tr", {}, found.heads.map((head) => el("th", { scope: "col" }, head)))),
      el("tbody", {}, found.rows.map((row) => el("tr", {}, el("th", { scope: "row" }, row[0]),
        row.slice(1).map((cell, k) => el("td", k ? { class: "number" } : {}, cell)))))))].flat();
}

/** The certificate in words, then its checks. */
function certificate(found) {
  const mood = found.verdict === "certified" ? "good" : found.verdict === "refuted" ? "bad" : "open";
  const sign = { good: "✓", bad: "✗", open: "?" }[mood];
  const holds = found.checks.filter((check) => check.holds).length;
  return section("Certificate",
    el("div", { class: "verdict " + mood },
      el("p", { class: "lead" }, el("span", { "aria-hidden": "true" }, sign + " "), found.sentences[0]),
      found.sentences.slice(1).map((line) => el("p", {}, line))),
    el("details", { open: holds < found.checks.length },
      el("summary", {}, holds + " of " + found.checks.length + " checks hold; gap " + tiny(found.gap) + ", residual " + tiny(found.residual)),
      scroller("Checks of the certificate", el("table", {}, el("caption", {}, "Every statement that was checked"),
        el("thead", {}, el("tr", {}, ["Check", "Holds", "Off by", "Allowed", "Worst at"].map((head) => el("th", { scope: "col" }, head)))),
        el("tbody", {}, found.checks.map((check) => el("tr", { class: check.holds ? null : "fails" },
          el("th", { scope: "row" }, check.name), el("td", {}, check.holds ? "yes" : "NO"),
          el("td", { class: "number" }, check.residual === 0 ? "0" : tiny(check.residual)),
          el("td", { class: "number" }, check.tolerance === 0 ? "0" : tiny(check.tolerance)),
          el("td", {}, check.witness || "–"))))))),
    found.undetermined_count ? el("details", {}, el("summary", {}, count(found.undetermined_count, "user") + " not pinned by the proof"),
      el("p", {}, found.undetermined.join(", ") + (found.undetermined_count > found.undetermined.length ? ", ..." : ""))) : null);
}

function answerPage(result) {
  const view = answerView(result.names, [result.point]);
  return el("div", {}, el("p", { class: "sub" }, result.subtitle), certificate(result.certificate), view.root);
}
