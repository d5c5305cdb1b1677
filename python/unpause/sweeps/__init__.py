"""Runs at many combinations of values: which points there are, what is kept of each."""
