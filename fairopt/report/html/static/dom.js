// Elements. Text always goes in as text nodes, never as HTML: a name may look like an element.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat(2)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

/** An HTML element with attributes ("onclick" and the like are listeners) and children. */
function el(name, attributes, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** The same for SVG. */
function svg(name, attributes, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

/** A title that a mouse shows; screen readers are given the same words elsewhere. */
function hint(text) {
  return svg("title", {}, text);
}

let last = 0;
function unique(word) {
  last += 1;
  return word + "-" + last;
}

/** A select with a label. */
function choice(label, values, chosen, onchange) {
  const select = el("select", { onchange: () => onchange(select.value) },
    values.map(([value, words]) => el("option", { value, selected: value === chosen }, words)));
  return el("label", { class: "choice" }, el("span", {}, label), select);
}

/** A section with a heading. */
function section(title, ...children) {
  const id = unique("h");
  return el("section", { "aria-labelledby": id }, el("h2", { id }, title), children);
}

/** A box that scrolls sideways by mouse and by keyboard. */
function scroller(label, child) {
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, child);
}
