"""The answer again after a change, from the answer before it (docs/maths/again.md)."""
