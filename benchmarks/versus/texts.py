"""What the scenarios send. A prompt made from another number has another beginning, so no cache knows it."""

import random

_VOCABULARY = (
    "house river stone light winter garden road water field night morning summer paper table window "
    "door music city forest island mountain bridge market letter story child mother father brother "
    "sister friend teacher doctor farmer sailor king soldier horse dog bird fish tree flower apple "
    "bread salt sugar iron gold silver glass wood cotton leather smoke fire wind rain snow cloud sun"
)
"""One token each in SmolLM2's vocabulary, with the space before."""

TOPICS = (
    "how a fireplace draws air and why it sometimes smokes into the room",
    "what a lighthouse keeper did during a long winter storm",
    "how bread dough rises and what goes wrong in a cold kitchen",
    "why rivers bend and how a meadow slowly becomes a lake",
    "how a letter travelled across the country before the railway",
    "what makes a violin sound warm or sharp",
    "how a city gets its drinking water from far hills",
    "why leaves change their colour before they fall",
    "how sailors found their way without any land in sight",
    "what a beekeeper checks in the first days of spring",
)

USER_MESSAGES = tuple(
    f"Please explain {topic}. Begin with the part that most people get wrong, then go on with one "
    "example from daily life, and keep the whole answer short."
    for topic in TOPICS
)
"""About 40 tokens each."""

_CODE = '''def collect_{name}(rows, limit):
    """Add up the {name} of every row until the limit is reached."""
    {name} = 0
    skipped = []
    for row in rows:
        if row["kind"] == "comment":
            skipped.append(row["number"])
            continue
        value = row["price"] * row["count"]
        if row["discount"]:
            value = value - row["discount"]
        if {name} + value > limit:
            break
        {name} = {name} + value
    if skipped:
        print("skipped rows:", len(skipped))
    return {name}


def print_{name}(rows, limit):
    """Show the {name} with two digits after the point."""
    {name} = collect_{name}(rows, limit)
    line = "-" * 20
    print(line)
    print("{name}:", round({name}, 2))
    print(line)
    return {name}
'''


def words(count: int, seed: int) -> str:
    """A text of about `count` tokens; the texts of two seeds share one token at most at their beginning."""
    chosen = random.Random(seed).choices(_VOCABULARY.split(), k=count - 2)
    return " ".join([_opening(seed), *chosen])


def system_message(seed: int) -> dict[str, str]:
    """A first message nobody has sent before."""
    return {"role": "system", "content": f"{_opening(seed)} is the password. You answer with care."}


def _opening(seed: int) -> str:
    """Two words, the same again after some 3,700 seeds.

    Not a number: its digits are tokens, and the first ones are those of its neighbours.
    """
    nouns = _VOCABULARY.split()
    return f"{nouns[seed % len(nouns)]} {nouns[seed // len(nouns) % len(nouns)]}".capitalize()


def story_prompt(seed: int) -> str:
    """The beginning of free prose, of about 40 tokens."""
    topic = TOPICS[seed % len(TOPICS)]
    return (
        f"{_opening(seed)}\n\nOn the long way home she asked the old man {topic}. "
        "He was silent for a while, and then he began to tell"
    )


def edit_prompt(seed: int) -> tuple[str, str]:
    """(prompt, expected): code and the same with a name replaced, twice, the last copy still to be written.

    The pair was shown before, so that a model of 135M really does it.
    """
    old, new = random.Random(seed).sample(_VOCABULARY.split(), 2)
    before, after = _CODE.format(name=old), _CODE.format(name=new)
    one = f"# The code\n{before}\n# The same code with {new} in place of {old}\n"
    return f"# {_opening(seed)}\n\n{one}{after}\n{one}", after


def copy_prompt(seed: int) -> tuple[str, str]:
    """(prompt, expected): a text of about 300 tokens twice, and its title for a third time."""
    draw, nouns = random.Random(seed), _VOCABULARY.split()
    body = " ".join(
        "The {} near the {} was older than the {}, and nobody asked the {} why.".format(
            *draw.sample(nouns, 4)
        )
        for _ in range(12)
    )
    title = f"{_opening(seed)}:\n"
    return f"{title}{body}\n\n{title}{body}\n\n{title}", body
