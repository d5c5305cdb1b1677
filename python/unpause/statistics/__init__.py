"""Percentiles, means over seeds, intervals and tests, rows grouped by scheme and swept values."""
