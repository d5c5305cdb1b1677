"""What a run comes to, in words: watched flows, victims, where PAUSE began, and why."""
