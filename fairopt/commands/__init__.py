"""The commands, one file each; each is imported only when it is run or asked for help.

COMMANDS is the one table. To add a command: a file with a click command named `command`, which
returns its exit code (None is 0), and a line here.
"""

from __future__ import annotations

# name -> (module below fairopt.commands, one line for `fairopt --help`)
COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("init", "Write a model file with remarks, to begin with."),
    "solve": ("solve", "Allocate fairly, with prices and a certificate."),
    "partition": ("partition", "Users in pieces on disk, from a model or from large tables."),
    "solve-partitions": ("solve_partitions", "Solve for more users than memory holds."),
    "verify": ("verify", "Judge a saved answer, whoever made it; no solver involved."),
    "check": ("check", "The fairness properties of a saved answer, with margins and witnesses."),
    "audit": ("audit", "What users hold today beside what they are due and could hold."),
    "horizon": ("horizon", "Many slices of time divided at once: what is due over a period."),
    "replay": ("replay", "A log beside what was due: by the slice, by a ledger, in hindsight."),
    "what-if": ("what_if", "Solve before and after a change: who loses, who gains."),
    "diff": ("diff", "Two saved answers side by side, losers first."),
    "compare": ("compare", "Every notion and every scheduler on one model, side by side."),
    "sweep": ("sweep", "Solve over a grid of parameters: one row per point, resumable."),
    "fill": ("fill", "Place whole tasks one at a time, by the papers' schedulers."),
    "whole": ("whole", "Whole tasks for what everybody is due, proved."),
    "plan": ("plan", "Who is due what on a real cluster, why, and on which node."),
    "import": ("import_", "From what a scheduler prints to a plain model."),
    "export": ("export", "The quotas of a plan as objects of a scheduler."),
    "lint": ("lint", "Quotas that cannot be meant, with file, line and the fix."),
    "simulate": ("simulate", "What users get over time: arrivals, servers on their own."),
    "propositions": ("propositions", "The papers' statements, tried on random instances."),
    "explain": ("explain", "Why one user gets what it gets, and what would bring it more."),
    "plot": ("plot", "A picture of a saved answer, sweep or comparison."),
    "report": ("report", "Results as one HTML page that opens from disk."),
    "serve": ("serve", "A plan as a page and a JSON API on this machine."),
    "models": ("models", "List the models shipped with fairopt."),
    "completion": ("complete", "Completion after Tab in bash, zsh or fish."),
    "doctor": ("doctor", "What is installed, and which lines of the README will work."),
}
