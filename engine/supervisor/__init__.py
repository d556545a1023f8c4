"""Owns worker processes: starts, stops, evicts, restarts them."""
