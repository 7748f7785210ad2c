"""What the rounds that an answer tells mean: who is stopped together, by which rows."""
