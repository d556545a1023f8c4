"""GET /metrics: the service's figures for Prometheus, in its text format, version 0.0.4.

Names that begin with `inglenook_` are ours. Those with `llamacpp:` are llama-server's, summed over all
models, so that dashboards made for it work here; its two averages cover the time since the start.
Format: https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import accumulate

import psutil
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from engine.server.metering import BUCKETS, Histogram, Meter, ModelSums
from engine.server.service import Service
from engine.supervisor.answer import ModelStatus

MEDIA_TYPE = "text/plain; version=0.0.4"

_Sample = tuple[str, dict[str, str], float]
"""Suffix of the name, labels, value."""


async def metrics(request: Request) -> Response:
    """GET /metrics. Needs the key as every address does: names of models are nobody else's business."""
    service = Service.of(request)
    lines = _text(service.meter, await service.engine.models(), service.version)
    return Response("".join(f"{line}\n" for line in lines), media_type=MEDIA_TYPE)


ROUTES = (Route("/metrics", metrics, methods=["GET"]),)


def _text(meter: Meter, models: list[ModelStatus], version: str) -> Iterator[str]:
    yield from _of_answers(sorted(meter.by_model.items()))
    yield from _of_now(meter, models, version)
    yield from _llama_servers(meter)


def _of_answers(sums: list[tuple[str, ModelSums]]) -> Iterator[str]:
    def counter(name: str, help_text: str, value: Callable[[ModelSums], int]) -> Iterator[str]:
        samples = [("", {"model": model}, value(one)) for model, one in sums]
        return _family(f"inglenook_{name}_total", "counter", help_text, samples)

    def divided(
        name: str, help_text: str, label: str, values: Callable[[ModelSums], Mapping[str, int]]
    ) -> Iterator[str]:
        samples = [
            ("", {"model": model, label: part}, value)
            for model, one in sums
            for part, value in sorted(values(one).items())
        ]
        return _family(f"inglenook_{name}_total", "counter", help_text, samples)

    def histogram(
        name: str, help_text: str, value: Callable[[ModelSums], Histogram]
    ) -> Iterator[str]:
        samples = [s for model, one in sums for s in _histogram({"model": model}, value(one))]
        return _family(f"inglenook_{name}_seconds", "histogram", help_text, samples)

    yield from divided("requests", "Requests that ended.", "outcome", lambda one: one.outcomes)
    yield from divided("prompt_tokens", "Tokens of prompts.", "source", _prompt_tokens)
    yield from counter("completion_tokens", "Tokens of answers.", lambda one: one.completion)
    yield from counter("drafted_tokens", "Tokens guessed ahead.", lambda one: one.drafted)
    yield from counter("accepted_tokens", "Of those, the right ones.", lambda one: one.accepted)
    yield from histogram("queue", "In line before the prompt is begun.", lambda one: one.queue)
    yield from histogram("prefill", "From there to the first token.", lambda one: one.prefill)
    yield from histogram("decode", "From there to the end.", lambda one: one.decode)
    about_first = "From arrival to the first token, a load included."
    yield from histogram("first_token", about_first, lambda one: one.first_token)


def _prompt_tokens(one: ModelSums) -> dict[str, int]:
    return {
        "computed": one.prompt_computed,
        "reused": one.prompt_reused,
        "restored": one.prompt_restored,
    }


def _of_now(meter: Meter, models: list[ModelStatus], version: str) -> Iterator[str]:
    def by_model(numbers: Mapping[str, int]) -> list[_Sample]:
        return [("", {"model": model}, number) for model, number in sorted(numbers.items())]

    loaded = {status.id: status.resident_bytes or 0 for status in models if status.state == "ready"}
    for name, help_text, samples in (
        ("inglenook_running_answers", "Being read or written.", by_model(meter.running())),
        ("inglenook_waiting_answers", "In line, or for a load.", by_model(meter.waiting())),
        ("inglenook_loaded_models", "Models that are ready.", [("", {}, len(loaded))]),
        ("inglenook_resident_bytes", "Main memory of a model's process.", by_model(loaded)),
        ("inglenook_info", "Always 1.", [("", {"version": version}, 1)]),
        (
            "process_start_time_seconds",
            "Of the service, since the epoch.",
            [("", {}, psutil.Process().create_time())],
        ),
    ):
        yield from _family(name, "gauge", help_text, samples)


def _llama_servers(meter: Meter) -> Iterator[str]:
    sums = meter.by_model.values()
    prompt_tokens = sum(one.prompt_computed for one in sums)
    prompt_s = sum(one.prefill.sum for one in sums)
    tokens = sum(one.completion for one in sums)
    decode_s = sum(one.decode.sum for one in sums)
    for name, kind, help_text, value in (
        ("prompt_tokens_total", "counter", "Prompt tokens computed.", prompt_tokens),
        ("prompt_seconds_total", "counter", "Time for that.", prompt_s),
        ("tokens_predicted_total", "counter", "Tokens of answers.", tokens),
        ("tokens_predicted_seconds_total", "counter", "Time for that.", decode_s),
        ("prompt_tokens_seconds", "gauge", "Tokens a second.", _rate(prompt_tokens, prompt_s)),
        ("predicted_tokens_seconds", "gauge", "Tokens a second.", _rate(tokens, decode_s)),
        ("requests_processing", "gauge", "Running answers.", meter.running().total()),
        ("requests_deferred", "gauge", "Waiting answers.", meter.waiting().total()),
    ):
        yield from _family(f"llamacpp:{name}", kind, help_text, [("", {}, value)])


def _rate(amount: float, seconds: float) -> float:
    return amount / seconds if seconds > 0 else 0.0


def _histogram(labels: dict[str, str], histogram: Histogram) -> Iterator[_Sample]:
    bounds = [*map(_number, BUCKETS), "+Inf"]
    for bound, count in zip(bounds, accumulate(histogram.counts), strict=True):
        yield "_bucket", labels | {"le": bound}, count
    yield "_sum", labels, histogram.sum
    yield "_count", labels, sum(histogram.counts)


def _family(name: str, kind: str, help_text: str, samples: Iterable[_Sample]) -> Iterator[str]:
    yield f"# HELP {name} {help_text}"
    yield f"# TYPE {name} {kind}"
    for suffix, labels, value in samples:
        pairs = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        yield f"{name}{suffix}{f'{{{pairs}}}' if pairs else ''} {_number(value)}"


def _escaped(text: str) -> str:
    plain = text.encode("utf-8", "replace").decode()  # odd bytes of a file's name
    return plain.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
