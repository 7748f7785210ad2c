"""Fairness over time: horizons (hindsight), ledgers (what a scheduler remembers), replay."""
