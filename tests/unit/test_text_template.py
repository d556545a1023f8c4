"""Chat templates: what they are given, what they may refuse, what happens when they are broken (C03-C06, C45)."""

import json
import threading
import time
from typing import Any

import pytest

from engine.errors import InvalidRequest, ModelFormatError
from engine.text.budget import MAX_TEXT
from engine.text.template import CHATML, ChatTemplate, choose_template

USER = {"role": "user", "content": "Hello"}
SYSTEM = {"role": "system", "content": "Be brief."}
PLAIN = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
NO_SYSTEM = (
    "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('System role not supported') }}"
    "{% endif %}[{{ m.role }}]{{ m.content }}{% endfor %}"
)
TOOLS_AS_MAPPING = (
    "{% for m in messages %}{% for c in m.tool_calls or [] %}"
    "{{ c.function.name }}({% for k, v in c.function.arguments|items %}{{ k }}={{ v }};{% endfor %})"
    "{% endfor %}{{ m.content }}{% endfor %}"
)


def render(source: str, *messages: dict[str, Any], **args: Any) -> str:
    return ChatTemplate(source, bos_token="<s>", eos_token="</s>").render(messages, **args).text


def call(arguments: Any, name: str = "add") -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": function}],
    }


# --- what a template finds -----------------------------------------------------------------------------


def test_variables() -> None:
    source = (
        "{{ bos_token }}{{ eos_token }}{{ add_generation_prompt }}{{ tools }}{{ enable_thinking }}"
    )
    assert render(source, USER, enable_thinking=False) == "<s></s>TrueFalse"
    assert render(source, USER, add_generation_prompt=False, tools=[{"a": 1}]).startswith(
        "<s></s>False[{'a': 1}]"
    )


def test_constants_win_over_arguments() -> None:
    assert render("{{ bos_token }}", USER, bos_token="evil") == "<s>"


def test_white_space_around_blocks_as_the_templates_expect() -> None:
    source = "{% for m in messages %}\n    {% if true %}\n{{ m.content }}\n    {% endif %}\n{% endfor %}\n"
    assert render(source, USER) == "Hello\n"


def test_json_is_written_for_models_not_for_web_pages() -> None:
    value = [{"b": "<ü'\"&", "a": 1}]
    assert render("{{ tools|tojson }}", USER, tools=value) == json.dumps(value, ensure_ascii=False)
    assert render("{{ tools|tojson(indent=2) }}", USER, tools=value) == json.dumps(
        value, ensure_ascii=False, indent=2
    )
    assert (
        render("{{ tools|tojson(sort_keys=true, separators=(',', ':')) }}", USER, tools=value)
        == '[{"a":1,"b":"<ü\'\\"&"}]'
    )


def test_what_templates_in_use_need() -> None:
    assert (
        render(
            "{% for i in range(9) %}{% if i == 3 %}{% break %}{% endif %}{{ i }}{% endfor %}", USER
        )
        == "012"
    )
    assert (
        render(
            "{% for i in range(3) %}{% if i == 1 %}{% continue %}{% endif %}{{ i }}{% endfor %}",
            USER,
        )
        == "02"
    )
    assert render("{% generation %}{{ messages[0].content }}{% endgeneration %}!", USER) == "Hello!"
    assert (
        render("{%- macro hi(a, b='y') -%}{{ a ~ b }}{%- endmacro -%}{{ hi('x') }}", USER) == "xy"
    )
    assert (
        render(
            "{% set ns = namespace(n=1) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}",
            USER,
        )
        == "2"
    )
    assert render("{{ messages|map(attribute='role')|join(', ') }}", SYSTEM, USER) == "system, user"
    assert (
        render(
            "{{ (messages|selectattr('role', 'equalto', 'user')|list)[0].content }}", SYSTEM, USER
        )
        == "Hello"
    )
    assert (
        render(
            "{{ messages[::-1][0].content[1:] }}{{ messages[-1]['role'] in ['user'] }}",
            SYSTEM,
            USER,
        )
        == "elloTrue"
    )
    assert (
        render(
            "{{ 'a</t>b'.split('</t>')[-1].lstrip('b') }}{{ '%s-%02d' % ('a', 7) }}{{ '{}!'.format(1) }}",
            USER,
        )
        == "a-071!"
    )
    assert (
        render("{{ {'b': 1, 'a': 2}|dictsort|first|first }}{{ 'x' * 3 }}{{ 7 // 2 }}", USER)
        == "axxx3"
    )
    assert (
        render(
            "{% for k, v in {'k': 'v'}.items() %}{{ loop.index }}{{ k }}{{ v }}{% endfor %}", USER
        )
        == "1kv"
    )
    assert (
        render(
            "{{ '  Hello '|trim|upper|replace('L', 'l') }}{{ 'a\nb'|indent(2) }}{{ [1, 2]|sum }}",
            USER,
        )
        == "HEllOa\n  b3"
    )
    assert (
        render("{{ 1.25|round(1) }}{{ 'the end'|title }}{{ '<&'|e }}{{ '<'|safe }}", USER)
        == "1.2The End&lt;&amp;<"
    )


def test_local_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def now() -> set[str]:
        moments = (time.localtime(time.time() - ago) for ago in (0, 5))
        return {time.strftime("%H:%M", moment) for moment in moments}

    assert render("{{ strftime_now('%H:%M') }}", USER) in now()
    if hasattr(time, "tzset"):  # elsewhere a process cannot move
        monkeypatch.setenv("TZ", "Asia/Kolkata")
        time.tzset()
        try:
            assert render("{{ strftime_now('%H:%M %z') }}", USER) in {f"{t} +0530" for t in now()}
        finally:
            monkeypatch.undo()
            time.tzset()


# --- messages ------------------------------------------------------------------------------------------


def test_text_parts_are_joined() -> None:
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    assert render(PLAIN, {"role": "user", "content": parts}) == "[user]one\ntwo"


def test_system_text_is_folded_into_the_first_user_turn_and_that_is_said() -> None:
    rendered = ChatTemplate(NO_SYSTEM).render(
        [SYSTEM, USER, {"role": "assistant", "content": "Hi"}]
    )
    assert rendered.text == "[user]Be brief.\n\nHello[assistant]Hi"
    assert rendered.notice is not None
    assert "system" in rendered.notice


def test_system_text_alone_becomes_a_user_turn() -> None:
    rendered = ChatTemplate(NO_SYSTEM).render([SYSTEM])
    assert rendered.text == "[user]Be brief."
    assert rendered.notice is not None


def test_system_role_is_left_alone_where_the_template_knows_it() -> None:
    rendered = ChatTemplate(PLAIN).render([SYSTEM, USER])
    assert rendered.text == "[system]Be brief.[user]Hello"
    assert rendered.notice is None


def test_a_refusal_is_the_requests_fault_and_says_why() -> None:
    source = "{% if messages[0].content == 'no' %}{{ raise_exception('Not like this') }}{% endif %}"
    with pytest.raises(InvalidRequest, match="Not like this") as caught:
        render(source, {"role": "user", "content": "no"})
    assert caught.value.details["param"] == "messages"


def test_folding_does_not_help_against_every_refusal() -> None:
    source = (
        "{% if messages[-1].role != 'user' %}{{ raise_exception('End with the user') }}{% endif %}"
    )
    with pytest.raises(InvalidRequest, match="End with the user"):
        render(source, SYSTEM, USER, {"role": "assistant", "content": "Hi"})


@pytest.mark.parametrize("role", [None, "", 7, "a b", "user<|im_end|>", "user\n", "x" * 65])
def test_a_role_is_a_word(role: Any) -> None:
    with pytest.raises(InvalidRequest, match="role") as caught:
        render(PLAIN, USER, {"role": role, "content": "x"})
    assert caught.value.details["param"] == "messages[1].role"


@pytest.mark.parametrize("part", [{"type": "image_url", "image_url": {"url": "x"}}, 7])
def test_only_text_is_read(part: Any) -> None:
    with pytest.raises(InvalidRequest, match="reads only text"):
        render(PLAIN, {"role": "user", "content": [part]})


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ('{"a": 1, "b": 2}', "add(a=1;b=2;)3"),
        ({"a": 1}, "add(a=1;)3"),
        ("", "add()3"),
        ("{}", "add()3"),
    ],
)
def test_tool_arguments_reach_the_template_as_a_mapping(arguments: Any, shown: str) -> None:
    messages = [call(arguments), {"role": "tool", "tool_call_id": "c1", "content": "3"}]
    assert render(TOOLS_AS_MAPPING, *messages) == shown


def test_tool_arguments_print_as_the_json_they_came_as() -> None:
    message = call('{"a":  "ü"}')
    argument = "messages[0].tool_calls[0].function.arguments"
    assert render(f"{{{{ {argument} }}}}", message) == '{"a":  "ü"}'
    assert render(f"{{{{ 'x' + {argument} + 'y' }}}}", message) == 'x{"a":  "ü"}y'
    assert render(f"{{{{ {argument}|tojson }}}}", message) == '{"a": "ü"}'
    assert (
        render(f"{{{{ {argument} is string }}}}{{{{ {argument} is mapping }}}}", message)
        == "FalseTrue"
    )


@pytest.mark.parametrize("arguments", ["not json", "[1]", "{" * 100_000])
def test_tool_arguments_that_are_no_json_object_stay_text(arguments: str) -> None:
    source = "{{ messages[0].tool_calls[0].function.arguments }}"
    assert render(source, call(arguments)) == arguments
    with pytest.raises(InvalidRequest, match="not a JSON object"):
        render(TOOLS_AS_MAPPING, call(arguments))


def test_a_message_that_only_calls_tools_has_no_content() -> None:
    message = call("{}")
    assert render("{{ messages[0].content }}|{{ 'x' + messages[0].content }}", message) == "|x"
    assert render("{{ messages[0].content is none }}", message) == "True"
    assert (
        render("{{ messages[0].content.strip() }}|{{ messages[0].content|trim }}", message) == "|"
    )
    without_key = {key: value for key, value in message.items() if key != "content"}
    assert render("{{ messages[0].content is none }}", without_key) == "True"


def test_a_message_without_content_and_without_calls_is_empty() -> None:
    assert render(PLAIN, {"role": "user", "content": None}) == "[user]"


def test_messages_are_not_changed() -> None:
    messages = [SYSTEM | {}, USER | {}, call('{"a": 1}')]
    before = json.dumps(messages)
    render(NO_SYSTEM, *messages)
    assert json.dumps(messages) == before


def test_more_text_than_any_model_reads_is_refused_before_rendering() -> None:
    with pytest.raises(InvalidRequest, match="longer than"):
        render(PLAIN, {"role": "user", "content": "x" * (MAX_TEXT + 1)})


def test_tools_that_are_none_or_a_list() -> None:
    assert render("{% for t in tools %}{{ t.n }}{% endfor %}{{ messages|length }}", USER) == "1"
    assert render("{{ tools is none }}", USER) == "True"


# --- broken templates ----------------------------------------------------------------------------------


def test_a_syntax_error_names_its_line() -> None:
    with pytest.raises(ModelFormatError, match=r"line 4: .*endif"):
        ChatTemplate("{% if a %}\n\nx\n{% endfor %}")


def test_a_failure_names_its_line() -> None:
    with pytest.raises(ModelFormatError, match=r"line 3: 'nope' is undefined"):
        render("a\n\n{{ nope.x }}", USER)


@pytest.mark.parametrize(
    "source", ["{{ 1/0 }}", "{{ messages + 1 }}", "{{ 'a'|int // 0 }}", "{{ x() }}"]
)
def test_whatever_goes_wrong_inside_is_the_models_fault(source: str) -> None:
    with pytest.raises(ModelFormatError, match="template failed in line 1"):
        render(source, USER)


def test_the_models_own_template_is_used() -> None:
    template, notice = choose_template(PLAIN, bos_token="<s>")
    assert template.source == PLAIN
    assert notice is None
    assert template.stops == ()


def test_the_users_choice_wins() -> None:
    template, notice = choose_template(PLAIN, "chosen {{ messages[0].content }}")
    assert template.render([USER]).text == "chosen Hello"
    assert notice is None


def test_a_broken_choice_falls_back_to_the_models_own_and_says_so() -> None:
    template, notice = choose_template(PLAIN, "{% if %}")
    assert template.source == PLAIN
    assert notice is not None
    assert "line 1" in notice


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (None, "no chat template"),
        ("", "no chat template"),
        ("\n\n\n{% endif %}", "line 4"),
        ("{{ nope.x }}", "'nope' is undefined"),
        ("{{ ''.__class__ }}", "out of bounds"),
    ],
)
def test_no_usable_template_means_chatml_with_a_reason(source: str | None, reason: str) -> None:
    template, notice = choose_template(source)
    assert template.source == CHATML
    assert template.stops == ("<|im_end|>",)
    assert notice is not None
    assert reason in notice
    assert "ChatML" in notice
    assert "Choose another chat template" in notice
    assert template.render([SYSTEM, USER]).text == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n"
    )


def test_a_template_that_does_not_like_the_trial_message_is_kept() -> None:
    source = "{{ raise_exception('I want a system message') if messages|length < 2 }}ok"
    template, notice = choose_template(source)
    assert template.source == source
    assert notice is None


def test_renderings_from_many_threads_do_not_mix() -> None:
    template = ChatTemplate(
        "{% set ns = namespace(t='') %}{% for m in messages %}{% set ns.t = ns.t ~ m.content %}{% endfor %}{{ ns.t }}"
    )
    wrong: list[str] = []

    def work(letter: str) -> None:
        for _ in range(20):
            text = template.render([{"role": "user", "content": letter}] * 30).text
            if text != letter * 30:
                wrong.append(text)

    threads = [threading.Thread(target=work, args=(letter,)) for letter in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert wrong == []
