// Numbers in words. All formatting is here, so that a number looks the same wherever it is shown.

/** A number with six significant digits, as in fairopt's tables. */
function num(x) {
  if (x === null || x === undefined) return "–";
  if (x === 0) return "0"; // and -0
  const size = Math.abs(x);
  if (size < 1e-4 || size >= 1e9) return x.toExponential(3).replace(/\.?0+e/, "e").replace("e+", "e");
  const text = String(Number(x.toPrecision(6)));
  return size >= 1e6 ? text.replace(/\B(?=(\d{3})+$)/g, ",") : text;
}

/** A part as per cent; full is 100%, and what is nearly full is not rounded to full. */
function percent(x) {
  if (x === null || x === undefined) return "–";
  const p = 100 * x;
  if (p > 99.995 && p < 100 - 1e-4) return "99.99%";
  if (p > 0 && p < 0.05) return "<0.1%";
  return p.toFixed(p >= 99.95 && p < 100.05 ? 0 : 1) + "%";
}

function count(n, word) {
  return n.toLocaleString("en") + " " + word + (n === 1 ? "" : "s");
}

/** A gap: below 1e-12 it is rounding. */
function tiny(x) {
  if (x === null || x === undefined) return "not bounded";
  if (x >= 0.01) return num(Number(x.toPrecision(3)));
  return x < 1e-12 ? "< 1e-12" : x.toExponential(1);
}

/** A number beside an axis: short, as there is little room. */
function tickWords(x) {
  const size = Math.abs(x);
  if (size < 1e5) return num(x);
  for (const [unit, word] of [[1e9, " G"], [1e6, " M"], [1e3, " k"]]) {
    if (size >= unit) return num(Number((x / unit).toPrecision(4))) + word;
  }
}

function clip(text, most) {
  const letters = Array.from(text);
  return letters.length <= most ? text : letters.slice(0, most - 1).join("") + "…";
}
