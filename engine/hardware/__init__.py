"""What this machine has, and what runs on it."""
