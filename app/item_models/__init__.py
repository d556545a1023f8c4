"""Qt item models over the stores."""
