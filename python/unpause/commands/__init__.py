"""What the commands of `unpause` do that need Python."""
