r"""Constraints of one's own in cvxpy, `solve(..., constraints=f)`: rows, and tangents.

An affine constraint is a rule: its value and gradient at 0 are all of it, and nothing of it is
trusted. Of a convex one, g(x) <= 0, the tangent at any point z

.. math:: \nabla g(z) \cdot x \le \nabla g(z) \cdot z - g(z)

is a rule that every x with g(x) <= 0 keeps. So an answer that is best beside tangents, and itself
keeps g, is best beside g, as far as g is convex and these are its tangents. Tangents are added
where an answer breaks g, until none does (Kelley 1960); the first is at the optimum of a general
solver.
"""

from __future__ import annotations

from fairopt.solving.constraints.judged import certify_with
from fairopt.solving.constraints.space import Space, read
from fairopt.solving.constraints.tangents import answer, refused

__all__ = ["Space", "answer", "certify_with", "read", "refused"]
