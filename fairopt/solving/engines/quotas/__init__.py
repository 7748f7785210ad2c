"""Engines for instances with groups, guarantees, ceilings, quotas, priorities and modes."""
