"""Quotas read for what cannot be meant: promises over capacity, limits that never bind, and so on.

`lined` reads objects with the line of each field; a file for each scheduler holds its rules, which
know nothing of files; `running` brings them together.
"""
