"""Summaries of runs in words: watched flows, victims, where PAUSE began, and why."""
