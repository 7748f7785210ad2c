"""Text in, objects and exact numbers out: files, streams, quantities and checked fields."""
