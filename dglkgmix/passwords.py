"""Passwords in addresses (URLs), which no message may show."""

from __future__ import annotations

import re
from urllib.parse import unquote

_NAME = r"[?&][^\s=&'\"]*(?:pass|pwd|secret|token)[^\s=&'\"]*="
_BEFORE_HOST = re.compile(r"(://[^\s/:'\"]*:)[^\s'\"]*@")
_IN_QUERY = re.compile(rf"({_NAME})[^\s&'\"]*?(?=[:,;]?(?:[\s&'\"]|$))", re.IGNORECASE)
# In a text that is one address and nothing else a password may hold any character.
_OF_ADDRESS = re.compile(rf"://[^/:]*:(.*)@|{_NAME}([^&]*)", re.IGNORECASE)


def hide_passwords(text: str, address: str = "") -> str:
    """The text with ``***`` for the password of each address in it.

    Both ``scheme://user:password@host`` and ``?password=...`` are known. The password of
    ``address`` is hidden wherever it stands, also alone or with its %-escapes resolved.
    """
    found = [part for match in _OF_ADDRESS.findall(address) for part in match if part]
    for secret in sorted({*found, *map(unquote, found)}, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", text)
    return _IN_QUERY.sub(r"\1***", _BEFORE_HOST.sub(r"\1***@", text))
