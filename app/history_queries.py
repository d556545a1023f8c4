"""The history's longer SQL, and how a search becomes a condition.

Pure. Zone: app. Neighbours: `app.history` runs these, `app.history_schema` has the tables.
"""

from typing import Final

_LIKE_LIMIT: Final = 1000
"""Characters; SQLite refuses patterns from 50,000 bytes on."""

CONVERSATION: Final = """
    SELECT id, title, created_at, updated_at, model, system_prompt, parameters, draft, scroll
    FROM conversation
"""
# Left alone, the planner takes the other index and walks the whole conversation for each message.
MESSAGE: Final = """
    SELECT m.id, m.conversation_id, m.parent_id, m.role, m.content, m.reasoning, m.state, m.error,
        m.created_at, m.figures, m.model,
        (SELECT json_group_array(json_array(a.id, a.name, a.characters))
            FROM attachment a WHERE a.message_id = m.id),
        m.edit,
        (SELECT count(*) FROM message s INDEXED BY message_siblings
            WHERE s.conversation_id = m.conversation_id AND s.parent_id IS m.parent_id
            AND s.id < m.id),
        (SELECT count(*) FROM message s INDEXED BY message_siblings
            WHERE s.conversation_id = m.conversation_id AND s.parent_id IS m.parent_id)
    FROM message m
"""
# A child is always younger than its parent, so ids are the order of a branch whatever the clock said.
BRANCH: Final = """
    WITH RECURSIVE branch (id) AS (
        SELECT (SELECT id FROM message WHERE conversation_id = ?1 AND parent_id IS NULL
            ORDER BY chosen DESC LIMIT 1)
        UNION ALL
        SELECT (SELECT id FROM message WHERE conversation_id = ?1 AND parent_id = branch.id
            ORDER BY chosen DESC LIMIT 1) FROM branch WHERE branch.id IS NOT NULL
    )
"""
INSERT: Final = """
    INSERT INTO message (conversation_id, parent_id, role, content, state, model, created_at, chosen)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, (SELECT coalesce(max(chosen), 0) + 1 FROM message
        WHERE conversation_id = ?1 AND parent_id IS ?2))
"""
SHOW: Final = """
    WITH RECURSIVE line (id, parent_id) AS (
        SELECT id, parent_id FROM message WHERE id = ?1
        UNION ALL
        SELECT m.id, m.parent_id FROM message m JOIN line ON m.id = line.parent_id
    )
    UPDATE message SET chosen = 1 + (SELECT max(s.chosen) FROM message s
        WHERE s.conversation_id = message.conversation_id AND s.parent_id IS message.parent_id)
    WHERE id IN (SELECT id FROM line) AND chosen < (SELECT max(s.chosen) FROM message s
        WHERE s.conversation_id = message.conversation_id AND s.parent_id IS message.parent_id)
"""
ATTACHMENTS: Final = """
    SELECT id, name, characters FROM attachment
    WHERE conversation_id = ? AND message_id IS NULL ORDER BY id
"""
ATTACH: Final = """
    INSERT INTO attachment (conversation_id, message_id, name, characters, text) VALUES (?, ?, ?, ?, ?)
"""
ATTACH_AGAIN: Final = """
    INSERT INTO attachment (conversation_id, message_id, name, characters, text)
    SELECT ?1, ?2, name, characters, text FROM attachment WHERE id = ?3 AND conversation_id = ?1
"""
SIBLINGS: Final = """
    SELECT s.id FROM message m JOIN message s INDEXED BY message_siblings
        ON s.conversation_id = m.conversation_id AND s.parent_id IS m.parent_id
    WHERE m.id = ?
    ORDER BY s.id
"""
_FOUND_AS_IT_IS: Final = """
    AND (instr(title, ?) OR id IN (
        SELECT conversation_id FROM message WHERE instr(content, ?)) OR id IN (
        SELECT conversation_id FROM attachment WHERE instr(text, ?))) """
_FOUND_BY_LIKE: Final = """
    AND (title LIKE ? ESCAPE '\\' OR id IN (
        SELECT conversation_id FROM message WHERE content LIKE ? ESCAPE '\\') OR id IN (
        SELECT conversation_id FROM attachment WHERE text LIKE ? ESCAPE '\\')) """
_FOUND_FOLDED: Final = """
    AND (instr(casefold(title), ?) OR id IN (
        SELECT conversation_id FROM message WHERE instr(casefold(content), ?)) OR id IN (
        SELECT conversation_id FROM attachment WHERE instr(casefold(text), ?))) """


def search(needle: str) -> tuple[str, tuple[str, ...]]:
    """The condition for conversations with a text in title, messages or attachments, and its values; none for an empty text.

    A scan, not an index: a trigram index finds no words of two letters (most Chinese ones), and writing to it
    takes 8 to 30 ms for now and then an ordinary message, 60 ms for one of 100,000 characters.
    """
    if not needle:
        return "", ()
    cased = [c for c in needle if _has_case(c)]
    if not cased:
        return _FOUND_AS_IT_IS, (needle,) * 3
    if len(needle) <= _LIKE_LIMIT and "".join(cased).isascii():
        # LIKE ignores the case of ASCII letters only, and is faster than folding each message.
        pattern = "".join("\\" + c if c in "\\%_" else c for c in needle)
        return _FOUND_BY_LIKE, (f"%{pattern}%",) * 3
    return _FOUND_FOLDED, (needle.casefold(),) * 3


def _has_case(letter: str) -> bool:
    return letter.lower() != letter.upper() or letter.casefold() != letter
