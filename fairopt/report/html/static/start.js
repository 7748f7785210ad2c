// Reads the data of the page and shows the first result; the others are drawn when asked for.

const DRAW = { answer: answerPage, sweep: sweepPage, comparison: comparisonPage, replay: replayPage, plan: planPage };

function start() {
  const { results } = JSON.parse(document.getElementById("data").textContent);
  const main = document.getElementById("main");
  const place = el("div", {});
  const heading = el("h1", { tabindex: "-1" });
  const made = new Map();
  const buttons = results.map((result, k) => el("button", { type: "button", onclick: () => show(k, true) }, result.title));

  function show(k, focus) {
    if (!made.has(k)) made.set(k, DRAW[results[k].kind](results[k]));
    buttons.forEach((button, j) => button.setAttribute("aria-pressed", String(j === k)));
    heading.textContent = results[k].title;
    place.replaceChildren(made.get(k));
    if (focus) heading.focus();
  }

  main.replaceChildren(results.length > 1 ? el("nav", { "aria-label": "Results" }, buttons) : "", heading, place,
    el("footer", {}, "Made by fairopt. " + (results.some((result) => result.live)
      ? "This page asks the server that it came from, and nothing else." : "This page asks nothing of a network.")));
  show(0, false);
  document.documentElement.dataset.ready = "yes";
}

start();
