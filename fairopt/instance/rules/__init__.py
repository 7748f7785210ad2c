"""Own linear rules of an instance: named rows over its tasks (docs/how-to/own-rules.md)."""

from fairopt.instance.rules.records import Rule, Term

__all__ = ["Rule", "Term"]
