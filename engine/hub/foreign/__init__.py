"""Models of other programs, found where they lie: read only, never copied, never written. One module a program."""
