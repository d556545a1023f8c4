"""Async client of the service, one method an endpoint."""
