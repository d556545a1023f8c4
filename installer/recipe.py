"""How the llama-cpp-python wheel is made: what its cache key and the stamp depend on. Light; no side effects."""

from installer import layout

HOOK = layout.ROOT / "installer" / "llama_library_only.cmake"

CMAKE_ARGS = (
    "-DCMAKE_BUILD_TYPE=Release",
    "-DGGML_NATIVE=ON",
    "-DGGML_OPENMP=ON",
    "-DGGML_LLAMAFILE=ON",
    "-DGGML_CPU_REPACK=ON",
    # Image and audio input, which nothing here uses: a quarter of the files.
    "-DLLAVA_BUILD=OFF",
)

# CMake installs headers and a second copy of every library beside the package.
WHEEL_EXCLUDE = "include/**;lib/**"


def cmake_args() -> list[str]:
    """All arguments; the last makes llama.cpp read `HOOK` right after its `project()` line."""
    return [*CMAKE_ARGS, f"-DCMAKE_PROJECT_llama.cpp_INCLUDE={HOOK.as_posix()}"]


def ingredients() -> list[bytes]:
    """Everything in this repository that shapes the wheel, independent of where it lies."""
    locks = [layout.LOCKS / "llama.txt", layout.LOCKS / "build.txt"]
    settings = " ".join([*CMAKE_ARGS, WHEEL_EXCLUDE])
    return [settings.encode(), *(file.read_bytes() for file in [HOOK, *locks])]
