"""Answers and sweeps for people to read: tables in text, and plots."""
