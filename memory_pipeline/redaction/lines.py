"""Kinds of lines that hold a credential: headers, addresses, command lines, password files, SQL."""

from __future__ import annotations

import re

from memory_pipeline.redaction.named import Found, is_basic, named, pass_word, span_of, trim
from memory_pipeline.redaction.plausible import is_code, is_hex, is_key, is_password, is_placeholder, looks_random

_SCHEME_VALUE = re.compile(rb"""[\s+]+["']?(?P<v>[A-Za-z0-9+/=_.~-]+)""")


def scheme(data: bytes, start: int, end: int) -> Found:
    """``Bearer …`` and ``Basic …`` wherever they stand."""
    found = _SCHEME_VALUE.match(data, end, end + 8_192)
    if found is None:
        return
    value = found["v"].rstrip(b".-")
    if data[start:end].lower() == b"basic":
        if is_basic(value):
            yield span_of(found.start("v"), value, "basic-auth")
    elif is_key(value, shortest=16, hex_too=True):
        yield span_of(found.start("v"), value, "token")


_USERINFO = re.compile(rb"""://(?P<u>[^\s/:@"'<>?\#]*):(?P<v>[^\s"'<>]+?)@(?=[\w.\[%$-])""")
_TUTORIAL = frozenset(
    b"user password pass passwd pwd username root admin postgres mysql guest rabbitmq redis secret test token host "
    b"pw mypassword dbpassword hunter2 x-oauth-basic x-token-auth xxx p db app changeme proxy me name".split()
)


def address(data: bytes, start: int, end: int) -> Found:
    """The password in ``scheme://user:password@host``; any, but for the words of every tutorial."""
    found = _USERINFO.match(data, start, end + 64)
    if found is None:
        return
    value = found["v"]
    if (
        value.lower() in _TUTORIAL
        or value == found["u"]
        or is_placeholder(value)
        or b"://" in value
        or b":" in value
        or value.isdigit()
    ):
        return
    if re.search(rb"[\[\]{}()\\]|^\.\.|^:", value) or (len(value) < 4 or (len(value) < 6 and value.isalpha())):
        return
    yield span_of(found.start("v"), value, "password")


def oracle(data: bytes, start: int, end: int) -> Found:
    """``jdbc:oracle:thin:user/password@host``."""
    at = data.index(b"/", start)
    value = data[at + 1 : data.rindex(b"@", at, end)]
    if len(value) >= 4 and not is_placeholder(value) and value.lower() not in _TUTORIAL:
        yield span_of(at + 1, value, "password")


_TAKES_PASSWORD = re.compile(
    rb"(?:^|[\s;&|`$(/\"',\[])(?:(?P<p>mysql\w*|mariadb[\w-]*|sshpass|docker|podman|helm|az|oc|ldap\w+|smbclient|7z\w?|zip|"
    rb"unzip|mosquitto_\w+|sqlcmd|mongo\w*|ipmitool|nmcli|plink|pscp|psftp|sqlplus|cf|skopeo|buildah|crane|net|vncpasswd|htpasswd|rabbitmq\w*)"
    rb"|(?P<a>redis-cli|keydb-cli|valkey-cli|ipmitool)|(?P<u>curl|wget|http|https|xh|httpie|snmp\w*|smbclient|svn|ftp|lftp|rclone)"
    rb"|(?P<k>openssl))[\s\"',]"
)
_OPTION_VALUE = re.compile(rb"""[\s"',=]*(?P<q>["']?)(?P<v>[^\s"',]+)""")
_USER_PASSWORD = re.compile(rb"^(?P<u>[^\s:]+):(?P<v>[^\s:/][^\s]*)\Z")


def option(data: bytes, start: int, end: int) -> Found:
    """``mysql -pX``, ``redis-cli -a X``, ``curl -u name:X``, also as a list of arguments."""
    line = max(data.rfind(b"\n", 0, start), start - 200, 0)
    letter = data[start:end].lstrip(b"-")[:1]
    commands = list(_TAKES_PASSWORD.finditer(data, line, start))
    found = _OPTION_VALUE.match(data, end, end + 256)
    if found is None:
        return
    value, at = found["v"], found.start("v")
    pair = _USER_PASSWORD.match(value)
    if pair and letter in b"ua" and not value.startswith(b"//"):
        password = pair["v"]
        if not is_placeholder(password) and not re.fullmatch(rb"[\d:]+|[^\w]+", password) and _chosen(password):
            yield span_of(at + pair.start("v"), password, "password")
        return
    if not commands or commands[-1][letter.decode() if letter in b"pauk" else "p"] is None:
        return
    if data[end : end + 1] not in b" \t\"'=," and not commands[-1][0].strip(b" \t\"';&|`$(/,[\n").startswith(
        (b"my", b"mar", b"7z", b"ssh")
    ):
        return
    if is_password(value, sure=True) or (letter == b"a" and is_key(value, shortest=8, hex_too=True)):
        yield span_of(at, value, "password")


def _chosen(value: bytes) -> bool:
    return len(value) >= 4 and not is_code(value) and value.lower() not in _TUTORIAL


_LOGIN = re.compile(
    rb"""(?P<u>[A-Za-z][\w.@+-]{1,40}+)["'`]?(?:[:/]|[ ]/[ ]|["'`],[ ]?)["'`]?(?P<v>[^\s"'`<>):/][^\s"'`<>)]{5,}+)"""
)


def login(data: bytes, _start: int, end: int) -> Found:
    """``login with admin:X``, ``auth=("bob", "X")``, ``credentials are admin / X``."""
    line = data.find(b"\n", end, end + 100)
    for found in _LOGIN.finditer(data, end, line if line >= 0 else end + 100):
        value = trim(found["v"])
        if is_password(value, sure=False) and not is_hex(value):
            yield span_of(found.start("v"), value, "password")
            return


_IDENTIFIED_BY = re.compile(rb"""(?i)\s+(?:password\s+|-string\s+)?["'](?P<v>[^"'\r\n]+)["']""")
_CHPASSWD = re.compile(rb"""["']?(?P<u>[a-z_][\w.-]*):(?P<v>[^\s"'|]+)["']?\s*\|\s*(?:sudo\s+)?\Z""")


def password_word(data: bytes, start: int, end: int) -> Found:
    """A password word: an assignment, a sentence, a table; ``credentials`` and ``chpasswd`` bring a name along."""
    word = data[start:end].lower()
    if word == b"chpasswd":
        line = max(data.rfind(b"\n", 0, start) + 1, start - 200)
        if found := _CHPASSWD.search(data, line, start):
            yield span_of(found.start("v"), found["v"], "password")
        return
    if word in (b"identified by", b"securestring"):
        found = _IDENTIFIED_BY.match(data, end, end + 200)
        if found and not is_placeholder(found["v"]):
            yield span_of(found.start("v"), found["v"], "password")
        return
    if word in (b"requirepass", b"masterauth"):
        yield from pass_word(data, start, end)
        return
    spans = list(named(data, start, end))
    yield from spans
    if not spans and word.startswith((b"cred", b"zugang")):
        yield from login(data, start, end)


_ECHOED = re.compile(rb"""(?:echo|printf|<<<)[ \t]+(?:-\w+[ \t]+)*["']?(?P<v>[^\s"'|]+)["']?[ \t]*\Z""")


def sudo(data: bytes, start: int, _end: int) -> Found:
    """``echo X | sudo -S``."""
    found = _ECHOED.search(data, max(0, start - 120), start)
    if found and is_password(found["v"], sure=True):
        yield span_of(found.start("v"), found["v"], "password")


_PGPASS = re.compile(rb"[\w.*-]+:(?:\d+|\*):[^\s:/]+:(?P<u>[^\s:/]+):(?P<v>[^\s:\"']+)")


def pgpass(data: bytes, start: int, end: int) -> Found:
    """``host:port:database:user:password``."""
    if data[start - 1 : start] in (b":", b"/", b"."):
        return
    found = _PGPASS.match(data, start, end + 128)
    if found and not found["u"].isdigit() and is_password(found["v"], sure=True) and not found["v"].isdigit():
        yield span_of(found.start("v"), found["v"], "password")


_HASHED = re.compile(rb"\$[\w-]+\$[./A-Za-z0-9$=,+-]+")


def password_hash(data: bytes, start: int, end: int) -> Found:
    found = _HASHED.match(data, start, end + 512)
    if found and looks_random(found[0][4:]):
        yield span_of(start, found[0].rstrip(b".,"), "password-hash")


_COOKIES = re.compile(rb"(?:set-)?cookie[\"']?\s*[:=]\s*[\"']?(?P<v>[^\r\n\"']+)", re.IGNORECASE)
_COOKIE = re.compile(rb"(?P<n>[\w.$-]+)=(?P<v>[^;\s]+)")


def cookies(data: bytes, start: int, _end: int) -> Found:
    """Every odd value of a ``Cookie`` header."""
    found = _COOKIES.match(data, max(0, start - 4) if data[max(0, start - 4) : start].lower() == b"set-" else start)
    if found:
        for pair in _COOKIE.finditer(data, found.start("v"), min(found.end("v"), found.start("v") + 4_096)):
            value = pair["v"].rstrip(b"\\\"',")
            if is_key(value, shortest=12, hex_too=True):
                yield span_of(pair.start("v"), value, "cookie")


def key_word(data: bytes, start: int, end: int) -> Found:
    if data[start:end].lower() == b"cookie":
        yield from cookies(data, start, end)
    yield from named(data, start, end)
