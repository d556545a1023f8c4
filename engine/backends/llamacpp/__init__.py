"""The CPU backend: llama.cpp through its C API."""
