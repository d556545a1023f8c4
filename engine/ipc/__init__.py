"""Frames between the service and its children."""
