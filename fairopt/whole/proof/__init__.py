"""What judges whole tasks, in integers alone: it imports nothing of the search for them."""
