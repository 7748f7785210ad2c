// Axes: round ticks, and places on them.

/** Round numbers from 0 or below the least to the greatest. */
function ticks(low, high, about) {
  if (!(high > low)) return [low];
  const raw = (high - low) / about;
  const power = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 5, 10].map((k) => k * power).find((k) => k >= raw * 0.999);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high * (1 + 1e-12) + 1e-300; k += 1) found.push(k * step + 0);
  return found;
}

/** value -> place between a and b. */
function linear(low, high, a, b) {
  const width = high - low || 1;
  return (x) => a + ((x - low) / width) * (b - a);
}

/** The ends of the numbers with some room. */
function ends(values, room) {
  const low = Math.min(...values);
  const high = Math.max(...values);
  const pad = (high - low) * room || Math.abs(high) * room || 1;
  return [low - pad, high + pad];
}

/** Axes of a picture w by h with the margins m: lines, numbers and words. */
function axes(w, h, m, x, y, words, at) {
  const parts = [];
  for (const v of at.y) {
    parts.push(svg("line", { class: "rule", x1: m.left, x2: w - m.right, y1: y(v), y2: y(v) }));
    parts.push(svg("text", { class: "tick", x: m.left - 6, y: y(v) + 4, "text-anchor": "end" }, tickWords(v)));
  }
  for (const [v, label] of at.x) {
    parts.push(svg("line", { class: "mark", x1: x(v), x2: x(v), y1: h - m.bottom, y2: h - m.bottom + 4 }));
    parts.push(svg("text", { class: "tick", x: x(v), y: h - m.bottom + 17, "text-anchor": "middle" }, label));
  }
  parts.push(svg("line", { class: "axis", x1: m.left, x2: w - m.right, y1: h - m.bottom, y2: h - m.bottom }));
  parts.push(svg("text", { class: "words", x: (m.left + w - m.right) / 2, y: h - 4, "text-anchor": "middle" }, words[0]));
  parts.push(svg("text", { class: "words", x: 4, y: 13 }, words[1]));
  return parts;
}
