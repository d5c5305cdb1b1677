"""Tests that run as programs, too."""
