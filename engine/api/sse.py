"""Server-sent events, both ways. Pure: bytes in, bytes out.

Zone: service (`event`, PING, DONE) and desktop (`Decoder`). Source: WHATWG HTML, "Server-sent events".
Of the fields only `data` is used; there are no reconnects to serve `id` and `retry`.
"""

import codecs

PING = b": ping\n\n"
"""A comment: keeps proxies and clients from giving up, and is invisible to them."""
DONE_MARK = "[DONE]"
DONE = b"data: [DONE]\n\n"
_BOM = "\ufeff"


def event(data: bytes) -> bytes:
    """One event with one line of data, such as JSON."""
    return b"data: " + data + b"\n\n"


class Decoder:
    """Incremental: feed bytes as they come, get the data of each event that became complete.

    Lines end with CR, LF or CRLF. What a cut-off stream leaves unfinished is never returned.
    """

    def __init__(self) -> None:
        self._text = codecs.getincrementaldecoder("utf-8")("replace")
        self._line: list[str] = []
        self._data: list[str] = []
        self._after_cr = False
        self._at_start = True

    def feed(self, chunk: bytes) -> list[str]:
        """The data of the events completed by `chunk`, lines joined by LF."""
        text = self._text.decode(chunk)
        if self._at_start and text:
            self._at_start = False
            text = text.removeprefix(_BOM)
        if self._after_cr and text:
            self._after_cr = False
            text = text.removeprefix("\n")
        self._after_cr = self._after_cr or text.endswith("\r")
        *lines, rest = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        events = []
        for line in lines:
            self._line.append(line)
            complete = "".join(self._line)
            self._line.clear()
            if complete:
                self._take(complete)
            elif self._data:
                events.append("\n".join(self._data))
                self._data.clear()
        if rest:
            self._line.append(rest)
        return events

    def _take(self, line: str) -> None:
        field, _, value = line.partition(":")
        if field == "data":
            self._data.append(value.removeprefix(" "))
