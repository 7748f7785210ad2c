"""Tests in folders that mirror the rooms of fairopt; no solver of ours made the `oracles`."""
