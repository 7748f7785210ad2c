"""A plan judged from its JSON alone."""
