// A plan: teams, what becomes of each workload, nodes, what moves, and whether it was proved.

function planPage(result) {
  const { queues, workloads, shapes, moves, moved } = result;
  const any = (value) => (value === null ? "any" : num(value));
  const number = (head, key, shown = num) => ({ head, number: true, sort: (row) => row[key] ?? Infinity, cell: (row) => shown(row[key]) });
  const words = (head, key, mark) => ({ head, mark, wide: !mark, sort: (row) => row[key], cell: (row) => row[key] });
  const could = queues.some((row) => row.could !== null);
  const teams = table({ caption: "Teams: tasks asked, held and due", noun: "team", text: (row) => row.queue, state: {}, columns: [
    words("Team", "queue", true), number("Weight", "weight"), number("Asked", "asked", any), number("Held", "held"), number("Due", "due"),
    ...(could ? [number("Could hold", "could", (x) => (x === null ? "–" : num(x)))] : []),
    number("Whole", "whole"), words("Due less held", "change"),
  ] });
  const work = table({ caption: "Workloads, and why each gets what it gets", noun: "workload", text: (row) => row.workload + " " + row.queue + " " + row.says, state: {}, columns: [
    words("Workload", "workload", true), words("Team", "queue"), number("Asked", "asked", any), number("Held", "held"), number("Due", "due"),
    number("Whole", "whole"), words("Why", "says"),
  ] });
  const used = (row) => Object.entries(row.use).map(([key, part]) => key + " " + percent(part)).join(", ");
  const runs = (row) => row.machines.map(([count, tasks]) => num(count) + " × (" +
    (Object.entries(tasks).map(([name, k]) => num(k) + " " + name).join(", ") || "nothing") + ")").join("; ");
  const nodes = table({ caption: "Nodes, by shape", noun: "shape", text: (row) => row.shape + " " + row.nodes.join(" "), state: {}, columns: [
    words("Shape", "shape", true), number("Nodes", "count"),
    { head: "In use", wide: true, cell: used }, { head: "No waiting task can use", wide: true, cell: (row) => row.stranded },
    { head: "Whole tasks on them", wide: true, cell: runs },
  ] });
  const steps = table({ caption: "Steps, in an order that overfills no node", noun: "step",
    text: (row) => row.pod + " " + row.workload + " " + row.from + " " + row.to, state: {}, columns: [
      number("Step", "step", (x) => (x === null ? "" : String(x))), words("Does", "do"), words("Pod", "pod", true), words("Workload", "workload"),
      words("From", "from"), words("To", "to"), words("Why", "why"),
    ] });
  teams.show(queues);
  work.show(workloads);
  nodes.show(shapes);
  steps.show(moves);
  const failed = result.judged.filter((check) => !check.holds);
  return el("div", {}, el("p", { class: "sub" }, result.subtitle),
    section("Certificate", el("p", {}, (result.certified ? "✓ " : "✗ ") + (result.certified
      ? "Certified: who is due what is proved, and every whole task fits on its node."
      : "This plan was not proved.") + " Judged again when this page was made, without a solver; gap " + num(result.gap) + "."),
      result.proved.length ? el("ul", {}, result.proved.map((line) => el("li", {}, line))) : null,
      failed.length ? el("ul", {}, failed.map((check) => el("li", {}, check.name + ": " + check.where))) : null),
    result.live ? askSection(result.live) : null,
    section("Teams", teams.node), section("Workloads", work.node), section("Nodes", nodes.node),
    Object.keys(moved).length ? section("Moves", el("p", {}, Object.entries(moved).map(([word, k]) => word + " " + num(k)).join(", ") + "."),
      moves.length ? steps.node : null) : null,
    result.aside.length ? section("Set aside", el("ul", {}, result.aside.map((line) => el("li", {}, line)))) : null);
}
