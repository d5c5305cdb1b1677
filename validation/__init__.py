"""The same topology, flows and parameters in unpause and in Debian's ns-3: a second opinion."""
