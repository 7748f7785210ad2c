"""Interior methods of our own for the trade-off (16) of kesidis2016, soft and hard forms."""
