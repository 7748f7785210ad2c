"""The last digits: Newton on the active set, of tasks and of levels."""
