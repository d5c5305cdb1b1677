"""Results and their tables: how they are stored, read, and cut to what is asked for."""
