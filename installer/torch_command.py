"""`python3 installer torch`: the optional CUDA part, for machines with an NVIDIA GPU that can use it.

Also what other commands say or do about torch: the offer after a set-up, and the tests' torch.
"""

import os
import sys
from pathlib import Path

from engine.errors import SetupError
from installer import nvidia, stamp, steps, torch_part
from installer.progress import Line
from installer.torch_size import Size

COMMAND = "python3 installer torch"
NO_TORCH = "INGLENOOK_NO_TORCH"
"""Set to 1, the tests are set up without torch."""
REQUIRE_TORCH = "INGLENOOK_REQUIRE_TORCH"
"""Set to 1 (as `CI=true` does), tests do not start without torch."""


def main(arguments: list[str], venv: Path) -> int:
    """Install the CUDA part; `--cpu` without looking at the GPU, `--remove` takes it out. 0 when done."""
    if arguments not in ([], ["--cpu"], ["--remove"]):
        sys.stderr.write(
            f"torch: unknown arguments {' '.join(arguments)}; it knows --cpu or --remove.\n"
        )
        return 2
    if arguments == ["--remove"]:
        done = steps.guarded(lambda line, logs: torch_part.remove(venv, line=line, logs=logs))
        return 0 if done else 1
    cuda = not arguments
    if cuda and isinstance(why := nvidia.suitable(nvidia.look()), str):
        sys.stderr.write(f"Nothing was installed: {why}.\n")
        sys.stderr.write(f"  Developers can have torch all the same: {COMMAND} --cpu\n")
        return 1
    if stamp.current([stamp.BASE, stamp.CUDA if cuda else stamp.TORCH], venv):
        sys.stderr.write(f"torch is installed already. To take it out: {COMMAND} --remove\n")
        return 0
    if not steps.prepare([stamp.BASE], venv):
        return 1
    done = steps.guarded(
        lambda line, logs: torch_part.install(venv, cuda=cuda, line=line, logs=logs)
    )
    return 0 if done else 1


def offer(venv: Path) -> None:
    """After a set-up: one line for whoever has a GPU that waits for torch. Installs nothing, fails never."""
    gpu = nvidia.suitable(nvidia.look())
    if isinstance(gpu, str) or stamp.current([stamp.CUDA], venv):
        return

    def say(line: Line, logs: Path) -> None:
        try:
            wanted = torch_part.ask(venv, cuda=True, line=line, logs=logs)
        except (SetupError, OSError):
            wanted = Size(asked=False)
        line.say(f"{gpu.name} can be used, with the CUDA part ({wanted.amount()}): {COMMAND}")

    steps.guarded(say)


def for_tests(venv: Path) -> None:
    """Install torch for the tests, unless it is there or unwanted; says loudly when that failed."""
    if stamp.current([stamp.TORCH], venv) or _set(NO_TORCH):
        return

    def install(line: Line, logs: Path) -> None:
        if stamp.current([stamp.TORCH], venv):  # another set-up was waited for
            return
        try:
            torch_part.install(venv, cuda=False, line=line, logs=logs)
        except (SetupError, OSError) as error:
            if torch_part.built_for(venv) is not None:
                return  # an earlier one is there and starts
            why = error.message if isinstance(error, SetupError) else str(error)
            line.say(
                f"WARNING: THE TORCH TESTS WILL BE SKIPPED, torch could not be installed: {why} "
                f"(All of it: {logs / 'torch.log'}; not to try: {NO_TORCH}=1)"
            )

    steps.guarded(install)


def missing_in_ci(venv: Path) -> bool:
    """Whether this is a run that must not skip the torch tests, and would; says so."""
    if not (_set("CI") or _set(REQUIRE_TORCH)) or torch_part.built_for(venv) is not None:
        return False
    sys.stderr.write(
        "The tests were not started: in CI the torch tests must run, and torch cannot be imported.\n"
        f"  Give this machine torch ({COMMAND} --cpu says what is in the way), without {NO_TORCH}.\n"
    )
    return True


def _set(variable: str) -> bool:
    return os.environ.get(variable, "").lower() not in {"", "0", "false"}
