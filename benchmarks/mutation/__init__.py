"""Mutation run over the judges: changes that no test notices."""
