"""Section 4 of kesidis2016 in numbers: the printed objective beside the certified optimum.

Kesidis et al. (tech report CSE-16-009) print allocations for two pools and three users. They are
feasible, but they are not the maximisers they are said to be: for each, the certificate gives a
bound on what is lost, and the optimum is solved and certified beside it.

Run: python examples/printed_and_true.py
"""

from __future__ import annotations

import fairopt as fo


def compare(name: str) -> tuple[float, float]:
    """Print one section; returns the printed allocation's objective and the optimum's."""
    model = fo.read(name)
    cluster, case = model.instance, model.cases[0]
    notion = fo.ProportionalFair(**case.parameters)

    given = case.refuses[0]["tasks"]
    tasks = [[given[user].get(server, 0.0) for server in cluster.servers] for user in cluster.users]
    printed = fo.Allocation(cluster, notion, tasks)
    judged = fo.certify(printed)
    optimum = fo.solve(cluster, notion)

    print(f"{model.title} ({name})")
    print(f"  printed: objective {printed.objective:.6f}, {judged.verdict}")
    for note in judged.notes[:1]:
        print(f"           {note}")
    print(f"  optimum: objective {optimum.objective:.6f}, {optimum.certificate.verdict}")
    for k, user in enumerate(cluster.users):
        print(f"    {user}: share {printed.shares[k]:.4f} printed, {optimum.shares[k]:.4f} optimal")
    return printed.objective, optimum.objective


if __name__ == "__main__":
    for section in ("kesidis2016/no-penalty", "kesidis2016/placement"):
        before, after = compare(section)
        if not before < after:
            raise SystemExit(f"{section}: the printed allocation is not worse than the optimum")
