"""Our interior method: alpha-fairness, limits, levels, very many users."""
