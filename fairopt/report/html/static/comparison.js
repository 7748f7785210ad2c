// A comparison: a row for each notion and scheduler, the properties that fail, their witnesses.

function comparisonPage(result) {
  const { rows, properties, users } = result;
  const detail = el("div", { class: "detail stays empty", "aria-live": "polite" }, el("p", { class: "small" },
    "Choose a ✗ to see who is wronged, and by how much."));
  const state = {};

  function witness(row, name, button) {
    for (const other of node.querySelectorAll(".cross-mark")) other.setAttribute("aria-pressed", "false");
    button.setAttribute("aria-pressed", "true");
    const check = row.properties[name];
    detail.classList.remove("empty");
    detail.replaceChildren(el("h3", {}, row.label + " fails: " + name), el("p", {}, properties[name].says),
      el("p", {}, "Where: " + (check.witness || "not told") + ". Off by " + num(check.residual) + "."));
  }

  const columns = [
    { head: "Notion or scheduler", mark: true, sort: (row) => row.label, cell: (row) => row.label },
    ...users.map((user, n) => ({ head: user, number: true, sort: (row) => (row.totals ? row.totals[n] : -1),
      cell: (row) => (row.totals ? num(row.totals[n]) : "–") })),
    { head: "Efficiency", number: true, sort: (row) => row.efficiency ?? -1, cell: (row) => num(row.efficiency) },
    { head: "Used", number: true, sort: (row) => row.used ?? -1, cell: (row) => percent(row.used) },
    { head: "Least level", number: true, sort: (row) => row.least ?? -1, cell: (row) => num(row.least) },
    { head: "Most level", number: true, sort: (row) => row.most ?? -1, cell: (row) => num(row.most) },
    ...Object.keys(properties).map((name) => ({ head: properties[name].short, sort: (row) => (row.properties ? Number(row.properties[name].holds) : -1),
      cell(row) {
        if (!row.properties) return "–";
        if (row.properties[name].holds) return el("span", { class: "tick-mark", role: "img", "aria-label": "holds" }, "✓");
        const button = el("button", { type: "button", class: "cross-mark", "aria-pressed": "false",
          "aria-label": row.label + " fails " + name + ": show where", onclick: () => witness(row, name, button) }, "✗");
        return button;
      } })),
    { head: "Certificate", sort: (row) => row.verdict || row.status, cell: (row) => row.verdict || row.status },
  ];
  const made = table({ caption: "Notions and schedulers on " + result.model + (users.length ? "; below a user's name, its tasks" : ""), noun: "row", columns, text: (row) => row.label, state });
  const without = rows.filter((row) => row.reason);
  const node = el("div", {}, el("p", { class: "sub" }, result.subtitle),
    section("Notions side by side", made.node, detail,
      el("dl", { class: "small" }, Object.entries(properties).map(([name, said]) => [el("dt", {}, said.short + ", " + name), el("dd", {}, said.says)])),
      el("p", { class: "small" }, "Levels here are tasks over what the user could run alone, by weight: one scale for all rows.")),
    without.length ? section("Without an answer", el("ul", {}, without.map((row) => el("li", {}, row.label + ": " + row.reason)))) : null);
  made.show(rows);
  return node;
}
