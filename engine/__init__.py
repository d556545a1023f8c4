"""The engine: runs language models on this machine. Qt-free."""
