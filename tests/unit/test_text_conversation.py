"""Messages as templates expect them."""

from engine.text.conversation import (
    ToolArguments,
    fold_system,
    has_unparsed_arguments,
    prepare,
    without_none,
)


def test_unknown_fields_are_kept() -> None:
    message = {"role": "tool", "content": "3", "tool_call_id": "c1", "name": "add", "x": [1]}
    assert prepare([message]) == [message]


def test_calls_without_the_function_wrapper_are_parsed_too() -> None:
    flat = {"name": "add", "arguments": '{"a": 1}'}
    [message] = prepare([{"role": "assistant", "tool_calls": [flat, "odd"]}])
    assert message["tool_calls"] == [{"name": "add", "arguments": {"a": 1}}, "odd"]
    assert message["content"] is None


def test_two_calls_in_one_message() -> None:
    calls = [{"function": {"name": n, "arguments": f'{{"{n}": 1}}'}} for n in "ab"]
    [message] = prepare([{"role": "assistant", "content": None, "tool_calls": calls}])
    assert [call["function"]["arguments"] for call in message["tool_calls"]] == [{"a": 1}, {"b": 1}]


def test_tool_arguments_are_a_mapping_that_prints_as_its_text() -> None:
    arguments = ToolArguments({"a": 1}, '{"a":1}')
    assert arguments == {"a": 1}
    assert (str(arguments), "x" + arguments, arguments + "y") == ('{"a":1}', 'x{"a":1}', '{"a":1}y')


def test_unparsed_arguments_are_noticed() -> None:
    good, bad = ({"function": {"arguments": text}} for text in ('{"a": 1}', "oops"))
    assert not has_unparsed_arguments(prepare([{"role": "assistant", "tool_calls": [good]}]))
    assert has_unparsed_arguments(prepare([{"role": "assistant", "tool_calls": [good, bad]}]))


def test_several_system_messages_fold_in_order() -> None:
    messages = [
        {"role": "system", "content": "one"},
        {"role": "user", "content": "hi"},
        {"role": "developer", "content": "two"},
        {"role": "user", "content": "ho"},
    ]
    assert fold_system(messages) == [
        {"role": "user", "content": "one\n\ntwo\n\nhi"},
        {"role": "user", "content": "ho"},
    ]
    assert messages[1]["content"] == "hi"
    assert fold_system(messages[1:2]) is None


def test_none_becomes_nothing() -> None:
    messages = [{"role": "assistant", "content": None}, {"role": "user", "content": "x"}]
    assert [m["content"] for m in without_none(messages)] == ["", "x"]
    assert messages[0]["content"] is None
