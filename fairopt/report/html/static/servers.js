// Servers as bars filled by user, with the prices beside them as a heat map.

const COLOURS = 7;

/** Which users have a colour of their own: the first seven, or those that take most. */
function coloured(names, points) {
  if (names.users.length <= COLOURS) return new Map(names.users.map((_, n) => [n, n]));
  const size = new Map();
  for (const point of points) {
    for (const server of point.fill) {
      for (const [n, ...parts] of server) size.set(n, (size.get(n) || 0) + Math.max(...parts));
    }
  }
  const order = [...size.keys()].sort((a, b) => size.get(b) - size.get(a) || a - b);
  return new Map(order.slice(0, COLOURS).map((n, k) => [n, k]));
}

function paint(view, n) {
  return view.colour.has(n) ? "c" + view.colour.get(n) : "cx";
}

/** One bar: how much of resource r of server i each user takes. */
function bar(view, point, i, r) {
  const used = point.used[i][r];
  const resource = view.names.resources[r];
  if (used === null) {
    return el("div", { class: "bar" }, el("span", { class: "what" }, resource),
      el("span", { class: "none" }, "none on this server"), el("span", { class: "part" }));
  }
  const wide = Math.max(1, used);
  const parts = [];
  const said = [];
  let at = 0;
  const add = (part, kind, name, words, n) => {
    const x = (100 * at) / wide, width = (100 * part) / wide;
    const piece = svg("svg", { x: x + "%", width: width + "%", height: "100%", "data-user": n, class: "piece" },
      hint(words), svg("rect", { width: "100%", height: "100%", class: kind }));
    if (width > 5 + 2 * Math.min(name.length, 8)) piece.append(svg("text", { x: 5, y: 14, class: "t" + kind }, clip(name, 12)));
    parts.push(piece);
    at += part;
  };
  for (const [n, ...share] of point.fill[i]) {
    const part = share[r];
    if (!(part > 0)) continue;
    const name = view.names.users[n];
    const words = name + ": " + percent(part) + " of " + resource;
    if (said.length < 8) said.push(name + " " + percent(part));
    add(part, paint(view, n), name, words, n);
  }
  const rest = point.rest[i];
  if (rest && rest[r + 1] > 1e-6) {
    const name = count(rest[0], "other");
    said.push(name + " " + percent(rest[r + 1]));
    add(rest[r + 1], "cx", name, name + ": " + percent(rest[r + 1]) + " of " + resource, null);
  }
  const label = resource + " on " + view.names.servers[i] + ", " + percent(used) + " used"
    + (said.length ? ": " + said.join(", ") : "");
  return el("div", { class: "bar" }, el("span", { class: "what", "aria-hidden": "true" }, resource),
    svg("svg", { class: "fill", role: "img", "aria-label": label, height: 20, width: "100%" },
      svg("rect", { width: "100%", height: "100%", class: "empty" }), parts),
    el("span", { class: "part" + (used > 1 - 1e-6 ? " full" : ""), "aria-hidden": "true" }, percent(used)));
}

function priceCell(point, i, r) {
  const price = point.prices[i][r];
  if (price === null) return el("td", { class: "number none" }, "–");
  const heat = Math.min(9, Math.ceil(10 * point.heat[i][r] - 1e-9) - 1);
  return el("td", { class: "number heat q" + heat }, num(price));
}

function serverTable(view) {
  const { names } = view;
  const many = names.resources.map((_, r) => r);
  const point = () => view.point;
  const columns = [
    { head: "Server", sort: (i) => names.servers[i].toLowerCase(), mark: true,
      cell: (i) => [names.servers[i], names.count && names.count[i] > 1
        ? el("span", { class: "small" }, " × " + names.count[i].toLocaleString("en")) : null] },
    { head: "Used", wide: true, number: false, sort: (i) => -Math.max(...point().used[i]),
      cell: (i) => el("td", { class: "wide bars" }, many.map((r) => bar(view, point(), i, r))) },
  ];
  if (view.point.prices) {
    for (const r of many) {
      columns.push({ head: "Price of " + names.resources[r], number: true,
        sort: (i) => (point().prices && point().prices[i][r]) || 0,
        cell: (i) => (point().prices ? priceCell(point(), i, r) : "–") });
    }
  }
  return table({ caption: "Servers: what is used, by whom" + (view.point.prices ? ", and what one more unit is worth" : ""),
    noun: "server", page: 10, columns, text: (i) => names.servers[i], state: view.state.servers, drawn: () => mark(view) });
}

/** The names of the colours, as buttons that show one user alone. */
function legend(view) {
  const own = [...view.colour.entries()].sort((a, b) => a[1] - b[1]);
  const items = own.map(([n, k]) => el("li", {}, el("button",
    { type: "button", "data-pick": n, "aria-pressed": "false", onclick: () => pick(view, n) },
    svg("svg", { class: "chip", width: 12, height: 12, "aria-hidden": "true" },
      svg("rect", { width: 12, height: 12, class: "c" + k })), clip(view.names.users[n], 24))));
  const others = view.names.users.length - own.length;
  if (others > 0) {
    items.push(el("li", { class: "others" }, svg("svg", { class: "chip", width: 12, height: 12, "aria-hidden": "true" },
      svg("rect", { width: 12, height: 12, class: "cx" })), count(others, "other user")));
  }
  return el("ul", { class: "legend", "aria-label": "Colours of users" }, items);
}

/** Show one user alone in all bars, or nobody when it was shown already. */
function pick(view, n) {
  view.picked = view.picked === n ? null : n;
  mark(view);
  if (view.told) view.told();
}

function mark(view) {
  if (!view.root) return;
  const on = view.picked !== null && view.picked !== undefined;
  view.root.classList.toggle("picked", on);
  for (const piece of view.root.querySelectorAll(".mine")) piece.classList.remove("mine");
  if (on) for (const piece of view.root.querySelectorAll('[data-user="' + view.picked + '"]')) piece.classList.add("mine");
  for (const button of view.root.querySelectorAll("[data-pick]")) {
    button.setAttribute("aria-pressed", String(on && Number(button.dataset.pick) === view.picked));
  }
}
