"""Interior methods of our own: for alpha-fairness, for a max-min level, for very many users."""
