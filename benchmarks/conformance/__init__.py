"""Vectors of schedulers' own tests and manuals: which definition each follows, and who agrees."""
