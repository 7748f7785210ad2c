"""Ours beside every peer that states the same question: times, ratios, gap and residual of both.

    python -m benchmarks.peers [--quick] [--only NAME ...] [--write docs/results]

One file a case (`cases/`), one file a side (`sides/`), a registry of each. A case asks one question
of several sides; each side answers in a process of its own, which is measured there and stopped at
a time limit; the sides take turns, round after round.
"""
