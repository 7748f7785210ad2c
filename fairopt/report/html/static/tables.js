// A table to search, sort and page through. Its rows may change while its settings stay.

const PAGE = 25;

/**
 * settings: caption, noun (of a row), page (rows shown at a time), columns, text (row -> what is searched), state.
 * A column: head, cell (row -> children), and optionally sort (row -> number or text), number,
 * wide, least (the first click sorts the least first), mark (the cell heads its row).
 * `state` {query, by, down, page} is kept by the caller, so that it outlives the table.
 */
function table(settings) {
  const { columns, state } = settings;
  const most = settings.page || PAGE;
  let rows = [];
  const body = el("tbody", {});
  const status = el("p", { class: "status", role: "status" });
  const search = el("input", { type: "search", value: state.query || "", oninput: () => {
    state.query = search.value;
    state.page = 0;
    draw();
  } });
  const back = el("button", { type: "button", onclick: () => turn(-1) }, "Previous");
  const on = el("button", { type: "button", onclick: () => turn(1) }, "Next");
  const pager = el("div", { class: "pager" }, back, on);
  const bar = el("div", { class: "tools" },
    el("label", {}, el("span", {}, "Search " + settings.noun + "s"), search), pager, status);
  const heads = columns.map((column, k) => {
    const kind = { scope: "col", class: column.number ? "number" : column.wide ? "wide" : null };
    if (!column.sort) return el("th", kind, column.head);
    return el("th", kind, el("button", { type: "button", class: "sort", onclick: () => by(k) },
      column.head, el("span", { class: "arrow", "aria-hidden": "true" })));
  });
  const grid = el("table", {}, el("caption", {}, settings.caption),
    el("thead", {}, el("tr", {}, heads)), body);

  function by(k) {
    state.down = state.by === k ? !state.down : !columns[k].least && columns[k].number;
    state.by = k;
    state.page = 0;
    draw();
  }

  function turn(step) {
    state.page = (state.page || 0) + step;
    draw();
  }

  function chosen() {
    const wanted = (state.query || "").trim().toLowerCase();
    let found = wanted ? rows.filter((row) => settings.text(row).toLowerCase().includes(wanted)) : rows;
    if (state.by !== undefined) {
      const value = columns[state.by].sort;
      const sign = state.down ? -1 : 1;
      found = found.map((row, k) => [value(row), k, row]);
      found.sort((a, b) => sign * (a[0] > b[0] ? 1 : a[0] < b[0] ? -1 : 0) || a[1] - b[1]);
      found = found.map((entry) => entry[2]);
    }
    return found;
  }

  function draw() {
    const found = chosen();
    const pages = Math.max(1, Math.ceil(found.length / most));
    state.page = Math.min(Math.max(state.page || 0, 0), pages - 1);
    const from = state.page * most;
    const shown = found.slice(from, from + most);
    body.replaceChildren(...shown.map((row) => el("tr", {}, columns.map((column) => {
      const kind = column.number ? "number" : column.wide ? "wide" : null;
      const inner = column.cell(row);
      if (inner instanceof HTMLTableCellElement) return inner;
      return column.mark ? el("th", { scope: "row" }, inner) : el("td", { class: kind }, inner);
    }))));
    heads.forEach((head, k) => {
      if (state.by === k) head.setAttribute("aria-sort", state.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    bar.hidden = rows.length <= most;
    back.disabled = state.page === 0;
    on.disabled = state.page >= pages - 1;
    pager.hidden = pages === 1;
    status.textContent = found.length === 0
      ? "No " + settings.noun + " is called that."
      : (from + 1).toLocaleString("en") + " to " + (from + shown.length).toLocaleString("en")
        + " of " + count(found.length, settings.noun)
        + (state.by === undefined ? "" : ", by " + columns[state.by].head);
    if (settings.drawn) settings.drawn();
  }

  const node = el("div", { class: "grid" }, bar, scroller(settings.caption, grid));
  return { node, show(next) { rows = next; draw(); } };
}
