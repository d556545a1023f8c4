# llama-cpp-python forces this on; its Python side never loads the library, and it is a third of the compile.
# A normal variable in llama.cpp's own scope wins over the forced cache entry (policy CMP0077).
set(LLAMA_BUILD_COMMON OFF)
