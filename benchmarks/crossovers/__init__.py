"""Where one engine becomes faster than the other, beside the constants that choose between them."""
