"""The process that holds one model."""
