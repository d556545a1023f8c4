"""Keeps of a draft what the model itself would have said. Exact by construction.

At each drafted position the sequence's own sampler picks from the model's logits, and the draft is followed while it
says the same. Every token is thus a sample of the model's own distribution, and where logits do not depend on the
batch it is the very token that would have come without a draft: draws are addressed by position.
Source: Leviathan et al. 2023 (arXiv 2211.17192), with drafts that are single guesses.
"""

from collections.abc import Sequence

from engine.backends.base import Outputs
from engine.errors import EngineError
from engine.sampling.sampler import Sampled, Sampler


def verify(
    sampler: Sampler, outputs: Outputs, first_row: int, draft: Sequence[int]
) -> list[Sampled]:
    """Sample after the last token and after each drafted one, as far as the draft is right.

    Args:
        sampler: of the sequence; accepts what it picks.
        outputs: of the decode.
        first_row: output row of the last token; the draft's follow.
        draft: tokens whose rows were computed on trial.

    Returns:
        1 … len(draft) + 1 tokens. All but the last were drafted.

    Raises:
        EngineError: nothing can be sampled after the last token.
    """
    sampled: list[Sampled] = []
    for i in range(len(draft) + 1):
        try:
            picked = sampler.sample(outputs, first_row + i)
        except EngineError:
            if not sampled:
                raise
            break  # comes again in the next step, behind the tokens that are good
        sampler.accept(picked.token)
        sampled.append(picked)
        if i == len(draft) or picked.token != draft[i]:
            break
    return sampled
