"""What is seen. Widgets show what stores hold and emit what the user wants."""
