from pathlib import Path

import pytest

from engine.hardware.cgroup import Limits, read_limits

V2 = "31 23 0:28 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw"
GIB = 1 << 30


def v1(controllers: str, root: str = "/") -> str:
    return f"32 31 0:29 {root} /sys/fs/cgroup/{controllers} rw - cgroup cgroup rw,{controllers}"


def fake(root: Path, mounts: list[str], groups: list[str], files: dict[str, str]) -> Path:
    files = {
        "proc/self/mountinfo": "\n".join(["23 1 8:1 / / rw - ext4 /dev/sda1 rw", *mounts]),
        "proc/self/cgroup": "\n".join(groups) + "\n",
        **{f"sys/fs/cgroup/{name}": text for name, text in files.items()},
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_no_cgroups_no_limits(tmp_path: Path) -> None:
    assert read_limits(tmp_path) == Limits()


@pytest.mark.parametrize(
    ("cpu_max", "quota"),
    [
        ("150000 100000\n", 1.5),
        ("max 100000\n", None),
        ("50000 100000\n", 0.5),
        ("0 100000", None),
        ("100000", None),
        ("-1 100000", None),
        ("rubbish rubbish", None),
        ("9" * 5000 + " 1", None),
    ],
)
def test_v2_quota(tmp_path: Path, cpu_max: str, quota: float | None) -> None:
    fake(tmp_path, [V2], ["0::/"], {"cpu.max": cpu_max})
    assert read_limits(tmp_path).cpu_quota == quota


def test_v2_nested_takes_the_tightest_of_every_level(tmp_path: Path) -> None:
    files = {
        "user.slice/cpu.max": "200000 100000",
        "user.slice/app.scope/cpu.max": "max 100000",
        "user.slice/memory.max": str(4 * GIB),
        "user.slice/memory.current": str(3 * GIB),
        "user.slice/app.scope/memory.max": str(2 * GIB),
        "user.slice/app.scope/memory.current": "0",
        "other.slice/cpu.max": "1000 100000",
    }
    fake(tmp_path, [V2], ["0::/user.slice/app.scope"], files)
    # 1 GiB is left in the slice, 2 GiB in the scope: the slice decides.
    assert read_limits(tmp_path) == Limits(2.0, 4 * GIB, 3 * GIB)


def test_v2_memory_high_counts_and_droppable_cache_does_not(tmp_path: Path) -> None:
    files = {
        "memory.max": "max",
        "memory.high": str(GIB),
        "memory.current": "600000",
        "memory.stat": "anon 100000\nfile 500000\ninactive_file 400000\nactive_file 100000\n",
    }
    fake(tmp_path, [V2], ["0::/"], files)
    assert read_limits(tmp_path) == Limits(None, GIB, 200000)


def test_v1_quota_and_memory(tmp_path: Path) -> None:
    files = {
        "cpu,cpuacct/box/cpu.cfs_quota_us": "150000\n",
        "cpu,cpuacct/box/cpu.cfs_period_us": "100000\n",
        "memory/box/memory.limit_in_bytes": str(GIB),
        "memory/box/memory.usage_in_bytes": "500",
        "memory/box/memory.stat": "inactive_file 1\ntotal_inactive_file 200\n",
        "memory/memory.limit_in_bytes": "9223372036854771712\n",
    }
    groups = ["4:memory:/box", "3:cpu,cpuacct:/box", "1:name=systemd:/x", "0::/x"]
    fake(tmp_path, [v1("cpu,cpuacct"), v1("memory")], groups, files)
    assert read_limits(tmp_path) == Limits(1.5, GIB, 300)


def test_v1_minus_one_is_no_quota(tmp_path: Path) -> None:
    files = {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}
    fake(tmp_path, [v1("cpu")], ["1:cpu:/"], files)
    assert read_limits(tmp_path) == Limits()


def test_v1_container_that_sees_its_hosts_path(tmp_path: Path) -> None:
    """Docker without a cgroup namespace: the path of the host, the group itself as the mount point."""
    files = {
        "cpu/cpu.cfs_quota_us": "250000",
        "cpu/cpu.cfs_period_us": "100000",
        "cpu/inner/cpu.cfs_quota_us": "100000",
        "cpu/inner/cpu.cfs_period_us": "100000",
    }
    mounts = [v1("cpu", "/docker/abc")]
    fake(tmp_path, mounts, ["1:cpu:/docker/abc"], files)
    assert read_limits(tmp_path).cpu_quota == 2.5
    fake(tmp_path, mounts, ["1:cpu:/docker/abc/inner"], {})
    assert read_limits(tmp_path).cpu_quota == 1.0
    fake(tmp_path, mounts, ["1:cpu:/somewhere/else"], {})
    assert read_limits(tmp_path).cpu_quota == 2.5


def test_both_versions_side_by_side(tmp_path: Path) -> None:
    mounts = [v1("cpu"), V2.replace("/sys/fs/cgroup ", "/sys/fs/cgroup/unified ")]
    files = {
        "cpu/cpu.cfs_quota_us": "300000",
        "cpu/cpu.cfs_period_us": "100000",
        "unified/memory.max": str(GIB),
    }
    fake(tmp_path, mounts, ["1:cpu:/", "0::/"], files)
    assert read_limits(tmp_path) == Limits(3.0, GIB, 0)


@pytest.mark.parametrize("group", ["0::/../..", "0::", "0::/gone/since", "::", "", "0:/"])
def test_strange_group_lines_still_read_the_mount_point(tmp_path: Path, group: str) -> None:
    fake(tmp_path, [V2, "broken line", "1 2 - cgroup2"], [group], {"cpu.max": "150000 100000"})
    assert read_limits(tmp_path).cpu_quota in (1.5, None)


def test_many_mounts_before_the_right_one(tmp_path: Path) -> None:
    noise = [f"{n} 1 0:{n} / /mnt/{'x' * 100}{n} rw - overlay overlay rw" for n in range(500)]
    fake(tmp_path, [*noise, V2], ["0::/"], {"cpu.max": "150000 100000"})
    assert read_limits(tmp_path).cpu_quota == 1.5


def test_this_machine() -> None:
    limits = read_limits()
    assert limits.cpu_quota is None or limits.cpu_quota > 0
    assert limits.memory_limit is None or limits.memory_limit > 0
