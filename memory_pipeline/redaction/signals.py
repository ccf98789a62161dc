"""Where to look closer: cheap patterns, free of vendor knowledge, that the engine searches for beside its rules.

A signal is no finding. ``contexts`` reads the text around it and decides. Patterns are in Rust's notation; a large
bounded repeat (``{12,4000}``) must never be among them, because compiling it hangs.
"""

from __future__ import annotations

_CHOSEN_WORDS = (
    r"pass[ _-]?(?:w(?:or[dt]|d)|phrase|code)|kennw(?:ort|örter)|zugangsdaten|credentials?|mot de passe"
    r"|contrase(?:ñ|n)a|senha|wachtwoord|parola|has(?:ł|l)o|пароль|密码|パスワード|identified by|chpasswd|securestring"
    r"|requirepass|masterauth"
)
_MADE_WORDS = (
    r"pass|pw|pwd|pswd|psw|secrets?|tokens?|keys?|schl(?:ü|ue)ssel|auth|authorization|sig|signature|cookie|session"
    r"|sid|webhook|psk|otp|totp|jwt|salt|csrf|xsrf|private|dsn|creds?"
)

SIGNALS = {
    # A password may follow in any way, so the word alone is enough.
    "password": rf"(?i)({_CHOSEN_WORDS})",
    # Key, token and the like are everyday words of code; something must be assigned to them.
    "key": rf"""(?i)({_MADE_WORDS})[A-Za-z0-9_.-]*["'`\])}}*\s]*(?:[:=>,|]|\s(?:is|ist|was|lautet|\{{)\s)""",
    "pass": r"(?i)(?:\b|_)(pass|pw|pwd|secret)[ \t]+[^\s=:]{5}",
    "flag": r"""(?i)--[a-z-]*(key|token|secret|auth|pw)[ \t]+["']?[A-Za-z0-9]{8}""",
    "sudo": r"(\|[ \t]*sudo[ \t]+(?:-\w+[ \t]+)*-S)",
    "scheme": r"""(?i)\b(bearer|basic|apikey)[\s+]+[A-Za-z0-9+/=_.~-]{12}""",
    "address": r"""://[^\s/:@"'<>?#]*:[^\s/"'<>]+@""",
    "oracle": r"""(?i):(?:thin|oci8?):[\w.-]+/[^\s@/]+@""",
    "option": r"""(?:^|[\s"'\[,])(-[pauk]|--user|--auth|--creds)["'=,\s]*[^\s"',=-]""",
    "login": r"""(?i)\b(auth ?=|log-?in (?:with|as|using|data|details|is)|logins?:|anmeldung|/user:)""",
    "hash": r"""\$(?:apr1|1|2[abxy]?|5|6|7|y|gy|argon2\w+|scrypt|pbkdf2[\w-]*|sha\d+)\$[./A-Za-z0-9$=,+-]{16}""",
    "pgpass": r"""(?m)^[\w.*-]+:(?:\d{2,5}|\*):[^\s:/"']+:[^\s:/"']+:[^\s:]{6}""",
    "bot": r"""\b([0-9]{6,12}:[A-Za-z0-9_-]{30,})(?:[^A-Za-z0-9_-]|$)""",
    "private-key": r"-----BEGIN[ A-Z0-9_-]*PRIVATE KEY",
    "codes": r"(?i)\b(?:recovery|backup|rescue|seed|mnemonic|wiederherstellungs?)[ _-]?(?:codes?|phrase|words?)\b",
    # Digits and letters in turn, and not only those of hex, of which there is much in every log.
    "random": (
        r"""[A-Za-z0-9+/_-]*[0-9][A-Za-z]*[G-Zg-z][A-Za-z]*[0-9][A-Za-z]+[0-9][A-Za-z0-9+/_-]*"""
        r"""(?:[^A-Za-z0-9+/_-]|$)"""
    ),
    # After a word that keys begin with, less will do, and hex counts.
    "prefixed": (
        r"""(?i)((?:[a-z][a-z0-9_.-]*)?(?:key|sk|pat|tok|token|secret|live|prod|api|access|auth|at)[a-z0-9]?[_.-]"""
        r"""[A-Za-z0-9_-]*[0-9][a-z][A-Za-z0-9_-]{12,})(?:[^A-Za-z0-9_-]|$)"""
    ),
    # Base64 of ASCII text: five times the four signs that three letters can become.
    "packed": (
        r"""(?:[CDI-Za-f][A-HQ-Xg-nw-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9+/_-]){5,}"""
        r"""[A-Za-z0-9+/_-]*(?:[^A-Za-z0-9+/_-]|$)"""
    ),
}
