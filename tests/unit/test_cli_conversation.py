"""What a terminal chat sends, also when the context is full."""

from engine.cli.conversation import Conversation


def talk(num_exchanges: int, system: str | None = "Be brief.") -> Conversation:
    conversation = Conversation(system)
    for i in range(num_exchanges):
        conversation.ask(f"question {i} " * 10)
        conversation.answer(f"answer {i} " * 10)
    conversation.ask("the open question")
    return conversation


def test_messages_alternate_and_an_answer_that_never_came_is_not_sent() -> None:
    conversation = talk(2)
    conversation.answer("")
    roles = [message.role for message in conversation.messages]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user"]


def test_the_oldest_whole_exchanges_go_and_the_rest_stays() -> None:
    conversation = talk(10)
    assert conversation.shrink(prompt_tokens=1000, limit=500) in range(5, 10)
    messages = conversation.messages
    assert messages[0].content == "Be brief."
    assert messages[1].role == "user"
    assert messages[-1].content == "the open question"
    assert "answer 9" in str(messages[-2].content)


def test_at_least_one_exchange_goes_each_time_until_none_is_left() -> None:
    conversation = talk(3)
    for _ in range(3):
        assert (
            conversation.shrink(prompt_tokens=501, limit=500) >= 1
            or len(conversation.messages) == 2
        )
    assert conversation.shrink(prompt_tokens=501, limit=500) == 0
    assert [m.role for m in conversation.messages] == ["system", "user"]


def test_a_question_can_be_taken_back() -> None:
    conversation = talk(1)
    conversation.take_back()
    assert conversation.messages[-1].role == "assistant"
