"""The torch backend: decodes from GGUF files with torch on NVIDIA GPUs."""
