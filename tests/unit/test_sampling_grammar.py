"""`Grammar`: masks, forced tokens, ends, thoughts and replays; schemas that are refused. Fake vocabulary: a token a byte."""

import json
from collections.abc import Sequence

import numpy as np
import pytest

from engine.backends.fake import FakeTokenizer
from engine.backends.host_logits import HostOutputs
from engine.errors import InvalidRequest, UnsupportedByBackend
from engine.sampling.grammar import Grammar, Grammars
from engine.sampling.sampler import Sampler
from engine.types import SamplingParams

TOKENIZER = FakeTokenizer()
GRAMMARS = Grammars(TOKENIZER)
END = TOKENIZER.eos
PERSON = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 5}, "age": {"enum": [7, 70]}},
    "required": ["name", "age"],
    "additionalProperties": False,
}


def start(schema: object, *, in_thought: bool = False) -> Grammar:
    return GRAMMARS.start(json.dumps(schema), in_thought=in_thought)


def write(grammar: Grammar, text: bytes) -> Grammar:
    for token in text:
        assert token in grammar.allowed()
        grammar.accept(token)
    return grammar


def forced_text(grammar: Grammar) -> bytes:
    text = bytearray()
    while (token := grammar.forced) is not None and token < 256:
        assert grammar.allowed().tolist() == [token]
        grammar.accept(token)
        text.append(token)
    return bytes(text)


def test_what_can_only_follow_is_forced_and_the_rest_is_masked() -> None:
    grammar = start(PERSON)
    assert forced_text(grammar) == b'{"name": "'
    assert set(b'az"\\') <= set(grammar.allowed().tolist())
    assert not set(b"\n\0").intersection(grammar.allowed().tolist())
    write(grammar, b'Bo"')
    assert forced_text(grammar) == b', "age": 7'
    assert bytes(grammar.allowed().tolist()) == b"0}"
    write(grammar, b"0")
    assert forced_text(grammar) == b"}"


def test_a_complete_answer_leaves_only_end_tokens() -> None:
    grammar = write(start({"const": {"a": 1}}), b'{"a": 1}')
    assert grammar.forced == END
    assert grammar.allowed().tolist() == sorted(TOKENIZER.end_ids)
    grammar.accept(END)
    assert grammar.forced is None
    assert grammar.allowed().tolist() == sorted(TOKENIZER.end_ids)


def test_an_answer_that_may_end_or_go_on_is_not_forced() -> None:
    grammar = write(start({"type": "integer"}), b"12")
    assert grammar.forced is None
    assert set(b"0123456789") | TOKENIZER.end_ids == set(grammar.allowed().tolist())


def test_a_thought_is_free_and_the_schema_holds_behind_it() -> None:
    grammar = start(PERSON, in_thought=True)
    for token in b"he is {old}, < 100 </think":
        assert grammar.allowed() is None
        assert grammar.forced is None
        assert grammar.trim([1, 2, 3]) == [1, 2, 3]
        grammar.accept(token)
    grammar.accept(ord(">"))
    assert forced_text(grammar) == b'{"name": "'


def test_drafts_are_cut_where_they_leave_the_schema() -> None:
    grammar = start(PERSON)
    assert grammar.trim(list(b'{"name": "Bob", "aga')) == list(b'{"name": "Bob", "ag')
    assert grammar.trim(list(b'{"name": "toolong')) == list(b'{"name": "toolo')
    assert grammar.trim([0, 1]) == []
    assert forced_text(grammar) == b'{"name": "'  # looking changed nothing


@pytest.mark.parametrize("num_replayed", range(len('{"name": "Bo", "age": 70}')))
def test_a_replayed_answer_is_in_the_same_state(num_replayed: int) -> None:
    text = b'{"name": "Bo", "age": 70}'
    whole, again = start(PERSON), start(PERSON)
    for token in text[:num_replayed]:
        whole.forced, whole.allowed()  # looking as the first worker did changes nothing
        whole.accept(token)
        again.accept(token)
    for token in text[num_replayed:]:
        assert again.forced == whole.forced
        assert again.allowed().tolist() == whole.allowed().tolist()
        whole.accept(token)
        again.accept(token)


def test_answers_of_one_schema_do_not_disturb_each_other() -> None:
    first, second = start(PERSON), start(PERSON)
    write(first, b'{"name": "Bo"')
    assert forced_text(second) == b'{"name": "'
    assert forced_text(first) == b', "age": 7'


def test_many_schemas_are_kept_and_let_go() -> None:
    for i in [*range(30), 0]:
        assert forced_text(start({"const": i + 1000})) == str(i + 1000).encode()


def test_a_schema_decides_on_nothing_but_its_answers() -> None:
    """`x-guidance` would switch checks off."""
    lenient = {"x-guidance": {"lenient": True, "whitespace_flexible": True}}
    assert forced_text(start(PERSON | lenient)) == b'{"name": "'
    with pytest.raises(InvalidRequest, match="uniqueItems"):
        start({"type": "array", "uniqueItems": True} | lenient)


@pytest.mark.parametrize(
    ("schema", "complaint"),
    [
        ({"properties": {"a": {"items": {"not": {}}}}}, "at properties.a.items.not: "),
        ({"properties": {"if": {"pattern": "*a"}}}, "at properties.if.pattern: repetition op"),
        ({"properties": {"a": {"pattern": "(?<=a)*"}}}, "at properties.a.pattern: look-around"),
        ({"items": {"$ref": "#/$defs/no"}}, r"at items.\$ref: "),
        ({"anyOf": [{"type": "string"}, {"type": "foo"}]}, r"at anyOf\[1\].type: Invalid type"),
        ({"properties": {"a": {"format": "xyz"}}}, "at properties.a.format: Unknown format"),
        ({"oneOf": [{"type": "number"}, {"type": "integer"}]}, "at oneOf: oneOf"),
        ({"$defs": {"a": {"items": {"pattern": "*a"}}, "b": {"pattern": "b"}}, "$ref": "#/$defs/a"},
         r"at \$defs.a.items.pattern: repetition operator missing expression\."),
        ({"properties": {"x": {"oneOf": [{"type": "string"}]}, "y": {"$ref": "#/$defs/a"}},
          "$defs": {"a": {"oneOf": [{}, {}]}}}, r"at \$defs.a.oneOf: oneOf constraints"),
        ({"enum": []}, "cannot be followed"),
        ({"type": "integer", "minimum": 5, "maximum": 4}, "at minimum: Unsatisfiable"),
        ({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
         "no answer can match it"),
        ({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}, "no answer"),
    ],
)  # fmt: skip
def test_schemas_that_cannot_be_followed_are_refused(schema: object, complaint: str) -> None:
    with pytest.raises(InvalidRequest, match=complaint) as refusal:
        start(schema)
    assert refusal.value.details["param"] == "response_format"
    assert refusal.value.hint


def test_a_schema_that_turns_out_too_complex_ends_its_answer_with_an_error() -> None:
    long = {"type": "string", "pattern": "^(ab|c)*$", "minLength": 100_000}
    grammar = start({"type": "object", "properties": {"x": long}})
    with pytest.raises(InvalidRequest, match="could not follow the JSON schema") as error:
        write(grammar, b'{"x": "abcc')
    assert error.value.details["param"] == "response_format"
    with pytest.raises(InvalidRequest):  # asked again behind tokens that were good
        grammar.allowed()


class NoEnd(FakeTokenizer):
    eos = None
    end_ids = frozenset()


def test_a_model_without_an_end_token_is_told_so() -> None:
    with pytest.raises(UnsupportedByBackend, match="no token that ends"):
        Grammars(NoEnd()).start("{}")


class Sentencepiece(FakeTokenizer):
    """Puts a space in front of every text, and joins two bytes where it can."""

    n_vocab = 262
    pieces: Sequence[bytes] = [*FakeTokenizer.pieces, b'": ', b" a"]

    def encode(self, text: str, *, add_special: bool, parse_special: bool) -> list[int]:
        data, tokens = (" " + text).encode() if text else b"", []
        while data:
            best = next((t for t in (260, 261) if data.startswith(self.pieces[t])), data[0])
            tokens.append(best)
            data = data[len(self.pieces[best]) :]
        return tokens


def test_a_tokenizer_that_adds_to_a_text_still_forces_the_text() -> None:
    tokenizer = Sentencepiece()
    schema = {"const": {"age": "réd"}}
    grammar = Grammars(tokenizer).start(json.dumps(schema))
    text, tokens = b"", []
    while (token := grammar.forced) is not None and token != END:
        grammar.accept(token)
        tokens.append(token)
        text += tokenizer.pieces[token]
    assert json.loads(text) == schema["const"]
    assert 260 in tokens


# --- in the sampler -------------------------------------------------------------------------------------

CHAINS = {
    "greedy": SamplingParams(temperature=0),
    "all": SamplingParams(temperature=1, top_k=0, top_p=1, min_p=0, seed=1),
    "filters": SamplingParams(temperature=0.9, top_k=40, top_p=0.9, min_p=0.05, seed=2),
    "nucleus": SamplingParams(temperature=1.3, top_k=0, top_p=0.7, min_p=0, seed=3),
    "typical": SamplingParams(temperature=1, typical_p=0.8, seed=4),
    "penalties": SamplingParams(temperature=1, repetition_penalty=1.4, frequency_penalty=1, seed=5),
    "bias": SamplingParams(temperature=1, logit_bias=((ord("x"), 9.0), (ord('"'), -100.0)), seed=6),
}


@pytest.mark.parametrize("params", CHAINS.values(), ids=CHAINS)
def test_the_chain_sees_only_what_is_allowed(params: SamplingParams) -> None:
    """As if the model itself gave every other token no chance at all."""
    random = np.random.default_rng(1)
    sampler, plain = Sampler(params, 0, [1], start({"type": "object"})), Sampler(params, 0, [1])
    grammar = start({"type": "object"})
    for _ in range(60):
        if grammar.forced == END:  # of several end tokens always the same one
            break
        row = random.normal(0, 2, TOKENIZER.n_vocab).astype(np.float32)
        picked = sampler.sample(HostOutputs(1, [row].__getitem__), 0).token
        masked = np.full_like(row, -np.inf)
        masked[grammar.allowed()] = row[grammar.allowed()]
        assert picked == plain.sample(HostOutputs(1, [masked].__getitem__), 0).token
        for state in (sampler, plain, grammar):
            state.accept(picked)


def test_log_probabilities_stay_the_models_own_and_come_one_by_one() -> None:
    row = np.linspace(2, -2, TOKENIZER.n_vocab, dtype=np.float32)
    outputs = HostOutputs(1, [row].__getitem__)
    asked = Sampler(SamplingParams(num_logprobs=1), 0, [], start(PERSON))
    assert asked.take_forced() == []
    sampled = asked.sample(outputs, 0)
    assert sampled.token == ord("{")
    assert sampled.logprob == pytest.approx(row[ord("{")] - outputs.lse(0))
    assert sampled.top[0][0] == 0  # not allowed, and still the most likely


def test_forced_tokens_are_taken_a_block_at_a_time() -> None:
    text = b'{"a": "a long constant text, longer than one block of rows"}'
    sampler = Sampler(SamplingParams(), 0, [], start({"const": json.loads(text)}))
    taken = []
    while block := sampler.take_forced():
        assert len(block) <= 15
        taken += [one.token for one in block]
    assert taken == [*text, END]
    assert sampler.num_accepted == len(taken)
