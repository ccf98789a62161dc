"""Fake secrets, put together at run time so that no scanner takes the tests for a leak."""

from __future__ import annotations

import base64
import hashlib


def noise(seed: str, length: int) -> str:
    """Hex digits that look random and are the same every time."""
    return "".join(hashlib.sha256(f"{seed}{i}".encode()).hexdigest() for i in range(length // 64 + 1))[:length]


def token(seed: str = "a") -> str:
    return "gh" + "p_" + noise(seed, 36)


def password(seed: str = "a") -> str:
    return "Zq" + noise(seed, 14)


def address(seed: str = "a") -> str:
    return f"postgres://app:{password(seed)}@db.corp.net:5432/prod"


def private_key(seed: str = "a") -> str:
    kind = "RSA PRIVATE " + "KEY-----"
    body = "\n".join(noise(f"{seed}{i}", 64) for i in range(12))
    return f"-----BEGIN {kind}\n{body}\n-----END {kind}"


def access_key(seed: str = "a") -> str:
    return "AK" + "IA" + noise(seed, 40).translate(str.maketrans("0189abcdef", "QRSTUVWXYZ")).upper()[:16]


def access_secret(seed: str = "a") -> str:
    return base64.b64encode(hashlib.sha256(seed.encode()).digest()).decode()[:40]
