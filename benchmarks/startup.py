"""How long until the service answers, and what it costs when it has nothing to do.

Targets: `--serve` to `/health` < 1.5 s; idle service and worker < 1 % of a core.
`python -m benchmarks.startup [--rounds N] [--idle-seconds N]`.
"""

import argparse
import time

import psutil

from benchmarks.harness import report, rounded, starter_model
from benchmarks.service import Service


def main() -> None:
    """Run and print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--idle-seconds", type=float, default=20)
    args = parser.parse_args()
    seconds = []
    for _ in range(args.rounds):
        with Service(starter_model(), threads=1) as service:
            seconds.append(service.seconds_to_health)
    with Service(starter_model(), threads=1) as service:
        service.load()
        assert service.process is not None
        processes = [psutil.Process(service.process.pid)]
        processes += processes[0].children(recursive=True)
        before = [_cpu(process) for process in processes]
        switches = [p.num_ctx_switches().voluntary for p in processes]
        time.sleep(args.idle_seconds)
        used = [(_cpu(p) - b) / args.idle_seconds for p, b in zip(processes, before, strict=True)]
        woken = [
            (p.num_ctx_switches().voluntary - s) / args.idle_seconds
            for p, s in zip(processes, switches, strict=True)
        ]
    report(
        "startup",
        to_health_s=rounded(seconds),
        idle_cpu_percent={"service": round(used[0] * 100, 3), "worker": round(used[1] * 100, 3)},
        idle_wakeups_per_s={"service": round(woken[0], 2), "worker": round(woken[1], 2)},
    )


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


if __name__ == "__main__":
    main()
