"""Alpha-fairness over any linear rules by one path from a first point to the optimum."""

from fairopt.solving.engines.path.solve import PathAnswer, solve

__all__ = ["PathAnswer", "solve"]
