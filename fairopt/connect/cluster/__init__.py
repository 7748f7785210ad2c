"""A cluster as it is: nodes, pods, workloads, who may run where, and what binds pods together."""
