"""Quotas read for what cannot be meant: promises over capacity, limits that never bind, and so on.

A file for each scheduler holds its rules, which know nothing of files; `running` reads objects with
the line of each field and brings them together.
"""
