"""Plans out: new quotas for the objects that an operator has, and new objects where there are none.

`originals` reads the objects as they are written, `taking` counts what a plan's whole tasks take,
`shifting` moves quotas within a tree without letting anybody use more or less than before, and a
file for each scheduler writes what changes.
"""
