"""Claims of papers: how they are written, measured, judged and shown."""
