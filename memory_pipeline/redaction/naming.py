"""What a name promises about its value: ``DB_PASSWORD`` a password, ``apiKey`` a key, ``token_type`` nothing."""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache


class Promise(IntEnum):
    """How much a name says: nothing, perhaps a key, surely a key, a password."""

    NOTHING = 0
    KEY = 1
    SURE_KEY = 2
    PASSWORD = 3


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+")
_PASSWORDS = _words("""
    password passwd passwort passwd pwd pass passphrase passcode pw pswd psw kennwort secret secrets credential
    credentials creds cred zugangsdaten psk contraseña contrasena senha passe wachtwoord parola hasło haslo
    пароль 密码 パスワード passwords passwörter kennwörter
""")
_PASSWORD_ENDS = ("password", "passwd", "passwort", "kennwort", "passphrase", "secret", "pwd")
_KEYS = _words("""
    token tokens key keys auth authorization sig signature cookie session sid webhook otp totp jwt salt csrf
    xsrf private dsn schlüssel schluessel authtoken apikey accesskey secretkey privatekey apitoken bearer
    apisecret
""")
_KEY_ENDS = ("token", "apikey", "secretkey", "accesskey", "authkey", "privatekey")
_SURE = _words("""
    api access secret private auth encryption encrypt signing sign master account service client jwt session
    refresh bearer app admin deploy bot oauth personal license shared hmac webhook x env
""")
_TELLS_OF_OTHERS = _words("""
    id ids name names file files filename path paths dir type types length len size count counts limit max min
    policy field fields label hint prompt regex pattern format expires expiry expiration expired ttl age timeout
    version class func function handler provider manager store storage reset validator validation required
    enabled disabled algorithm alg algo bits index usage param params parameter arg args attr attribute alias
    spec ref kind scope scopes endpoint host port user username email mail date time timestamp status state
    strength mode method option options parser reader generator exists map list table column prefix suffix
    separator ring board stroke down up press words uri url link domain location position pair sort order error
    errors message msg info description title text placeholder help page form dialog screen view button icon
    changed change policy confirm confirmation update updated rotation rotate manager vault service server
    client provider checker check hasher encoder decoder helper util utils test tests config settings require
    requires needed fingerprint thumbprint digest checksum hash hashes hashed sum sha sha1 sha256 sha512 md5
    etag revision commit public pub cache idempotency trace span request foreign primary unique partition hotkey
    shortcut keyboard monkey donkey turkey
""")
_NO_CREDENTIALS = frozenset({"thinking", "thought", "reasoning", "next", "page", "pagination", "continuation", "sync"})
_LIKE_HASH = re.compile(r"(?i)sha\d*|md5|hash|digest|checksum|etag|fingerprint|commit|revision|thumbprint|public|cache")


@lru_cache(maxsize=4_096)
def promise(name: str) -> Promise:
    """What the identifier ``name`` says, by its last part but for numbers and by the parts before it."""
    parts = [part.lower() for part in _PART.findall(name) if not part.isdigit()]
    if not parts or parts[-1] in _TELLS_OF_OTHERS or not _NO_CREDENTIALS.isdisjoint(parts):
        return Promise.NOTHING
    passwords = [part for part in parts if part in _PASSWORDS or part.endswith(_PASSWORD_ENDS)]
    keys = [part for part in parts if part in _KEYS or part.endswith(_KEY_ENDS)]
    if _LIKE_HASH.search(name) and not passwords:
        return Promise.NOTHING
    if passwords:
        return Promise.PASSWORD if passwords[-1] != "pass" or parts[-1] == "pass" else Promise.NOTHING
    if not keys:
        return Promise.NOTHING
    if keys[-1] in ("authtoken", "apikey", "accesskey", "secretkey", "privatekey", "apitoken", "authorization", "jwt"):
        return Promise.SURE_KEY
    # API_KEY, accessToken, SIGNING_KEY, GITHUB_TOKEN: hardly anything else is called like this
    sure = any(part in _SURE for part in parts) or (name.isupper() and "_" in name)
    return Promise.SURE_KEY if sure else Promise.KEY


@lru_cache(maxsize=4_096)
def kind_of_name(name: str) -> str:
    """The kind that a token shows for a value of this name."""
    lowered = name.lower()
    for word in ("cookie", "token", "signature", "webhook", "otp"):
        if word in lowered:
            return word
    if re.search(r"api[-_.]?key|access[-_.]?key", lowered):
        return "api-key"
    if promise(name) == Promise.PASSWORD:
        return "secret" if "secret" in lowered else "password"
    return "key" if "key" in lowered else "token"
