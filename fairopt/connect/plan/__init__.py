"""From a cluster to its plan: the model, the answer, whole tasks on nodes, and what moves."""
