"""Answers that are wrong on purpose, and what the judge says of them."""

import benchmarks.trust  # noqa: F401  finds the oracles
