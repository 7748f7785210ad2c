"""The clusters of the papers and of the literature, as shipped in models/."""

from __future__ import annotations

from functools import partial

import numpy as np

import fairopt as fo
from benchmarks.fairbench.families import OWN, Built, called, of_instance
from benchmarks.fairbench.problem import Problem
from fairopt import criteria

MODELS = (
    "ghodsi2011/example",
    "kesidis2018/example",
    "kesidis2018/definition-1",
    "kesidis2016/no-penalty",
    "kesidis2016/placement",
    "kesidis2016/single-resource",
    "kesidis2016/single-resource-scarce",
    "khamse2016/figure-1",
    "khamse2016/figure-2",
    "khamse2016/section-v",
    "bonald2015/example-2-4",
    "bonald2015/example-2-5",
    "edge/counts",
    "edge/kinds-of-gpu",
    "edge/limits",
    "edge/demand-by-server",
    "real/ec2-gpu",
)
ASKED = ((1.0, "tasks"), (2.0, "tasks"), (np.inf, "drf"))


def problems() -> list[Built]:
    """Three notions of each cluster."""
    return [
        (f"papers/{model.replace('/', '-')}/{called(alpha)}", partial(_build, model, alpha, by))
        for model in MODELS
        for alpha, by in ASKED
    ]


def _build(model: str, alpha: float, by: str) -> Problem:
    read = fo.read(model)
    words = {
        "name": f"papers/{model.replace('/', '-')}/{called(alpha)}",
        "family": "papers",
        "title": read.title,
        "source": read.source,
        "licence": OWN,
    }
    inst = read.instance
    return of_instance(inst, criteria.score(inst, by), alpha, words)
