"""What a hub's answer means: HTTP status and `X-Error-Code` → one of our errors, with the page that helps. Pure.

The hub says 401 to whoever asks for something that is missing, private or gated, and to every token it does not know, also
where no token is needed: `X-Error-Code` tells them apart. Source: huggingface_hub 2.4, `utils/_http.py`.
"""

import email.utils
import re
import time
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from engine.errors import HubDenied, HubError, HubNotFound

_MOST_WAIT_S: Final = 300.0
_RESET: Final = re.compile(r"[;,]\s*t=(\d+)")


def hub_failure(
    status: int,
    headers: Mapping[str, str],
    *,
    endpoint: str,
    host: str,
    repo: str,
    with_token: bool,
) -> HubError:
    """The error of an answer that is none of the successful ones.

    Args:
        status: of HTTP.
        headers: of the answer; looked up as `X-Error-Code`, so a mapping that does not mind the case.
        endpoint: of the hub, for the addresses of its pages.
        host: who answered.
        repo: `owner/name`; empty: the question was about none.
        with_token: was one sent?
    """
    code = headers.get("X-Error-Code", "")
    if status == 429:
        return _too_many(headers, host)
    if status >= 500:
        return HubError(
            f"{host} has trouble of its own (status {status}).",
            hint="Try again later.",
            host=host,
            wait_s=retry_after_s(headers),
        )
    if code == "GatedRepo":
        return _gated(endpoint, host, repo, with_token=with_token)
    if status == 404 or code in ("RepoNotFound", "RevisionNotFound", "EntryNotFound"):
        return _missing(code, host, repo, with_token=with_token)
    if status == 401 and with_token:
        page = f"{endpoint}/settings/tokens"
        return HubDenied(
            "The hub does not accept your token.",
            hint=f"Make a new one at {page}, or remove it in the settings: public models need none.",
            host=host,
            reason="token",
            url=page,
        )
    page = _page(endpoint, repo)
    if status == 401:
        return _login(host, page)
    if status == 403:
        return HubDenied(
            f"The hub refuses access to {repo or 'this'}.",
            hint=f"See {page}.",
            host=host,
            reason="forbidden",
            url=page,
        )
    return HubError(
        f"{host} gave an answer that makes no sense (status {status}).",
        hint="Try again later.",
        host=host,
    )


def retry_after_s(headers: Mapping[str, str], now: float | None = None) -> float:
    """How long the hub wants to be left alone, seconds: `Retry-After` or `RateLimit`; 0: it does not say.

    Args:
        headers: of the answer.
        now: seconds since the epoch.
    """
    said = headers.get("Retry-After", "").strip()
    if said.isdigit():
        return min(float(said[:9]), _MOST_WAIT_S)
    if said:
        try:
            date = email.utils.parsedate_to_datetime(said).timestamp()
        except (ValueError, OverflowError):
            return 0.0
        return min(max(0.0, date - (time.time() if now is None else now)), _MOST_WAIT_S)
    reset = _RESET.search(headers.get("RateLimit", ""))
    return min(float(reset[1][:9]), _MOST_WAIT_S) if reset else 0.0


def _gated(endpoint: str, host: str, repo: str, *, with_token: bool) -> HubDenied:
    page = _page(endpoint, repo)
    if not with_token:
        return _login(host, page)
    return HubDenied(
        f"The licence of {repo or 'this model'} has not been accepted with your account.",
        hint=f"Accept it at {page}, then try again.",
        host=host,
        reason="licence",
        url=page,
    )


def _login(host: str, page: str) -> HubDenied:
    return HubDenied(
        "This model is given only to those who are known to the hub.",
        hint=f"Log in at {page}, accept what it asks for, and put a token of yours into the settings.",
        host=host,
        reason="login",
        url=page,
    )


def _missing(code: str, host: str, repo: str, *, with_token: bool) -> HubNotFound:
    if code == "RevisionNotFound":
        return HubNotFound(
            f"{repo} has no such version on the hub.", hint="Take “main”.", host=host
        )
    if code == "EntryNotFound":
        return HubNotFound(
            f"{repo} has no such file on the hub.",
            hint="Look at the model's page again.",
            host=host,
        )
    private = "" if with_token else " A private one needs a token, in the settings."
    return HubNotFound(
        f"There is no {repo or 'such model'} on the hub.",
        hint=f"Check its name.{private}",
        host=host,
    )


def _too_many(headers: Mapping[str, str], host: str) -> HubError:
    wait_s = retry_after_s(headers)
    again = f"in {wait_s:.0f} s" if wait_s else "in a minute"
    return HubError(
        f"{host} was asked too often.", hint=f"Try again {again}.", host=host, wait_s=wait_s
    )


def _page(endpoint: str, repo: str) -> str:
    return f"{endpoint}/{quote(repo)}"
