"""From a request to sequences: chat template, tokens, limits. Runs on a thread of its own.

Zone: worker process. Tokenizing a long prompt must not stall the answers that are being written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.backends.base import Capabilities
from engine.errors import ContextOverflow, InvalidRequest
from engine.ipc.messages import Accepted, ChatPrompt, Generate, TextPrompt
from engine.sampling.sampler import Sampled, Sampler
from engine.scheduler.sequence import Sequence
from engine.text.prompt import encode_beginning, encode_chat, encode_text
from engine.text.template import ChatTemplate
from engine.text.tokenizer import Tokenizer
from engine.worker.emit import Emitter, Limits

if TYPE_CHECKING:
    from engine.sampling.grammar import Grammar, Grammars


@dataclass(frozen=True, slots=True)
class Admitted:
    """A request as the loop takes it over."""

    accepted: Accepted
    sequences: list[tuple[Sequence, Emitter]]
    resumed: bool


class Intake:
    """Turns `Generate` into sequences."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        template: ChatTemplate,
        caps: Capabilities,
        template_notice: str = "",
    ) -> None:
        self._tokenizer = tokenizer
        self._template = template
        self._caps = caps
        self._template_notice = template_notice
        """Told once, with the first chat."""
        self._grammars: Grammars | None = None

    def take(self, message: Generate) -> Admitted:
        """Prepare a request.

        Raises:
            InvalidRequest: the template refuses the messages, ids that do not exist, no prompt, a
                schema that no answer can be held to.
            ContextOverflow: the prompt leaves no room for an answer.
            ModelFormatError: the model's template does not work.
        """
        prompt, prefilled, notice = self._encode(message)
        self._check(message, prompt)
        limit = self._caps.n_ctx_seq - len(prompt)
        limits = Limits(
            max_tokens=limit if message.max_tokens is None else min(limit, message.max_tokens),
            stop=(*message.stop, *self._template_stops(message)),
            # with a schema there is nothing behind the end
            ignore_end=message.ignore_end and not message.schema,
        )
        sequences: list[tuple[Sequence, Emitter]] = []
        for choice in range(message.num_choices):
            if choice in message.finished:
                continue
            resume = message.resume[choice] if choice < len(message.resume) else []
            emitter = Emitter(self._tokenizer, limits, reasoning_prefilled=prefilled)
            sampler = Sampler(message.sampling, choice, prompt, self._grammar(message, prefilled))
            for token in resume:
                sampler.accept(token)
                emitter.push(Sampled(token, None, ()))
            sequence = Sequence(
                message.request,
                choice,
                tokens=[*prompt, *resume],
                num_prompt=len(prompt),
                sampler=sampler,
                priority=message.priority,
                reads_only=message.reads_only,
                cache_key=message.cache_key,
            )
            sequences.append((sequence, emitter))
        accepted = Accepted(message.request, prompt, prefilled, notice)
        return Admitted(accepted, sequences, resumed=any(message.resume))

    def _encode(self, message: Generate) -> tuple[list[int], bool, str]:
        prompt = message.prompt
        if isinstance(prompt, ChatPrompt) and message.reads_only:
            beginning = encode_beginning(
                self._tokenizer, self._template, prompt.messages, prompt.tools, prompt.template_args
            )
            return beginning, False, ""
        if isinstance(prompt, ChatPrompt):
            encoded = encode_chat(
                self._tokenizer,
                self._template,
                prompt.messages,
                tools=prompt.tools,
                template_args=prompt.template_args,
                continue_final=prompt.continue_final,
            )
            notices = (self._template_notice, encoded.notice or "")
            self._template_notice = ""
            return encoded.tokens, encoded.reasoning_prefilled, " ".join(filter(None, notices))
        if isinstance(prompt, TextPrompt):
            return encode_text(self._tokenizer, prompt.text), False, ""
        return prompt.tokens, prompt.reasoning_prefilled, ""

    def _grammar(self, message: Generate, prefilled: bool) -> Grammar | None:
        if not message.schema or message.reads_only:
            return None
        if self._grammars is None:
            from engine.sampling.grammar import Grammars

            self._grammars = Grammars(self._tokenizer)
        return self._grammars.start(message.schema, in_thought=prefilled)

    def _template_stops(self, message: Generate) -> tuple[str, ...]:
        return self._template.stops if isinstance(message.prompt, ChatPrompt) else ()

    def _check(self, message: Generate, prompt: list[int]) -> None:
        n_vocab, n_ctx = self._tokenizer.n_vocab, self._caps.n_ctx_seq
        if not prompt:
            raise InvalidRequest(
                "The prompt is empty.", hint="Send at least one token.", param="prompt"
            )
        if not all(0 <= token < n_vocab for token in prompt):
            raise InvalidRequest(
                f"The prompt has token ids outside 0 … {n_vocab - 1}.",
                hint="Use the ids of this model's own tokenizer.",
                param="prompt",
            )
        if not all(0 <= token < n_vocab for token, _ in message.sampling.logit_bias):
            raise InvalidRequest(
                f"logit_bias has token ids outside 0 … {n_vocab - 1}.",
                hint="Use the ids of this model's own tokenizer.",
                param="logit_bias",
            )
        if len(prompt) >= n_ctx:
            raise ContextOverflow(
                f"The prompt has {len(prompt):,} tokens and the context holds {n_ctx:,}.",
                hint="Shorten the prompt, or load the model with a larger context.",
                prompt_tokens=len(prompt),
                limit=n_ctx,
            )
