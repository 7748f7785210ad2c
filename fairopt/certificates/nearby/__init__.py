"""The rounds of a max-min answer at a point nearby that is known to twice a float's digits."""
