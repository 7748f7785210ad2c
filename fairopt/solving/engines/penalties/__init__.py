"""Our method for the trade-off (16) of kesidis2016, soft and hard."""
