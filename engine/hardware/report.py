"""Hardware and plans as text for people (`inglenook doctor`) and as builtin values for programs. Pure.

Neighbours: `probe`, `plan`.
"""

from dataclasses import asdict
from typing import Any

from engine.hardware.cpu import Cpu
from engine.hardware.gpu import Gpu
from engine.hardware.plan import Plan
from engine.hardware.probe import Hardware, Memory
from engine.hardware.units import gigabytes


def report(hardware: Hardware) -> list[tuple[str, str]]:
    """(label, value) lines."""
    cpu = hardware.cpu
    lines = [
        ("System", f"{hardware.system}, {cpu.machine}"),
        ("Processor", cpu.name),
        ("Cores", _cores(cpu)),
        ("Instructions", _instructions(cpu)),
        ("Memory", _memory(hardware.memory)),
    ]
    lines += [(f"GPU {gpu.index}", _gpu(gpu)) for gpu in hardware.gpus]
    if hardware.gpu_note or not hardware.gpus:
        lines.append(("GPU", hardware.gpu_note or "no NVIDIA GPU"))
    return lines


def as_json(hardware: Hardware) -> dict[str, Any]:
    """Everything the probe found; memory in bytes."""
    wire = asdict(hardware)
    features = hardware.cpu.features
    wire["cpu"]["features"] = None if features is None else sorted(features)
    wire["cpu"]["usable_cores"] = hardware.cpu.usable_cores
    wire["memory"]["free"] = hardware.memory.free
    wire["gpus"] = [_gpu_json(gpu) for gpu in hardware.gpus]
    return wire


def plan_as_json(plan: Plan) -> dict[str, Any]:
    """A plan; memory in bytes."""
    wire = asdict(plan)
    wire["needed"]["total"] = plan.needed.total
    wire["gpu"] = None if plan.gpu is None else _gpu_json(plan.gpu)
    wire["reasons"] = list(plan.reasons)
    return wire


def _gpu_json(gpu: Gpu) -> dict[str, Any]:
    lists = {"compute_capability": list(gpu.compute_capability), "cuda": list(gpu.cuda)}
    return {**asdict(gpu), **lists}


def _cores(cpu: Cpu) -> str:
    text = f"{cpu.physical_cores} physical, {cpu.logical_cpus} logical"
    if cpu.performance_cores is not None:
        text += f", {cpu.performance_cores} fast"
    if cpu.allowed_cpus < cpu.logical_cpus:
        text += f"; limited to {cpu.allowed_cpus} of {cpu.logical_cpus} CPUs"
    if cpu.quota is not None:
        text += f"; CPU quota {cpu.quota:.3g}"
    return f"{text}; {cpu.usable_cores} usable"


def _instructions(cpu: Cpu) -> str:
    if cpu.features is None:
        return "unknown"
    names = ", ".join(sorted(cpu.features)) or "none of use"
    return f"{names} ({cpu.handicap})" if cpu.handicap else names


def _memory(memory: Memory) -> str:
    text = f"{gigabytes(memory.total)}, {gigabytes(memory.available)} available"
    if memory.limit is not None and memory.limit < memory.total:
        used, limit = gigabytes(memory.used_of_limit), gigabytes(memory.limit)
        text += f"; the container may use {limit} and uses {used}"
    if memory.address_space is not None:
        text += f"; address space limited to {gigabytes(memory.address_space)}"
    return text


def _gpu(gpu: Gpu) -> str:
    capability = ".".join(map(str, gpu.compute_capability))
    cuda = ".".join(map(str, gpu.cuda))
    memory = f"{gigabytes(gpu.vram_total)}, {gigabytes(gpu.vram_free)} free"
    return (
        f"{gpu.name}, {memory}; compute capability {capability}, driver {gpu.driver}, CUDA {cuda}"
    )
