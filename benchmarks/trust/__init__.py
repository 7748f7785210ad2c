"""How often answers are wrong, refused or missing: thousands of small seeded instances."""
