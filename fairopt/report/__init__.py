"""Answers for people to read: tables in text."""
