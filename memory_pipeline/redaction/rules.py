"""Kingfisher's rules, rebuilt for redaction, together with the signals of this room in one multi-pattern engine.

A scanner wants certainty; whoever redacts wants everything that looks like a key to go. So each rule loses its partner
condition (an access key counts without its secret beside it) and ends more freely (``key.`` and ``key,`` too), and
keeps its own filter of entropy and allowed values. The text of the rules is read from the installed library at run time
and written into the private cache folder; none of it is kept in this repository.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory_pipeline.errors import MemoryPipelineError
from memory_pipeline.redaction.signals import SIGNALS

if TYPE_CHECKING:
    from kingfisher_sdk import Rules, Scanner

_MINIMUM_RULES = 400
"""The pinned release gives 457 with the signals; with far fewer, its rules are not those this was built for."""

_PUBLIC = (
    "-id",
    "-url",
    "-host",
    "-name",
    "-username",
    "-domain",
    "-address",
    "-repository",
    "-public-key",
    "-api-key",
)
"""Rules for the public half of a credential (an account's name, a server's address), which is no secret by itself."""

_SUPERSEDED = frozenset({
    "betterleaks.curl-auth-header",
    "betterleaks.curl-auth-user",
    "betterleaks.generic-credential-uri",
    "betterleaks.hashicorp-tf-password",
    "betterleaks.kubernetes-secret-yaml",
    "betterleaks.nuget-config-password",
    "betterleaks.sidekiq-sensitive-url",
})  # fmt: skip
"""Rules about lines, not vendors: ``contexts`` finds the same, and names the secret without what stands around it."""

_STRICT_ENDS = (
    r"""(?:\\?['"\x60]|[\s;]|\\[nr]|$)""",
    r"""(?:(?:\\?(?:["'`]))|(?:[\x09-\x0D\x20;])|(?:\\(?:[nr]))|\z)""",
    r"""(?:(?:\\?(?:["'`]))|(?:[\x09-\x0D\x20;])|(?:\\(?:[NRnr]))|\z)""",
)
_LOOSE_END = "(?:[^A-Za-z0-9_(]|$)"

_KINGFISHER = "kingfisher-secret-scanner"
_DETECTION = (
    "contexts", "detector", "lines", "named", "naming", "packing", "plausible", "rules", "shapes", "signals", "views",
)  # fmt: skip


def rules_version() -> str:
    """12 hex digits that change with Kingfisher's release and with the code that recognises secrets."""
    state = hashlib.sha256(version(_KINGFISHER).encode())
    for module in _DETECTION:
        state.update((Path(__file__).parent / f"{module}.py").read_bytes())
    return state.hexdigest()[:12]


def load_scanner(cache_dir: Path) -> Scanner:
    """The engine with all rules; 1 s with a warm cache, about 8 s without.

    Raises MemoryPipelineError where the library cannot be loaded or has too few rules.
    """
    with contextlib.suppress(OSError):  # without a cache it is slower, not wrong
        cache_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        cache_dir.chmod(0o700)  # the library trusts a private folder only
    try:
        from kingfisher_sdk import Rules, Scanner  # noqa: PLC0415 - loads the native library, only when needed

        rules = _rebuilt(Rules, cache_dir)
        scanner = Scanner(rules, base64=False)
    except Exception as error:  # whatever it is: without rules nothing may pass
        raise MemoryPipelineError(
            f"The rules of the secret scanner cannot be loaded ({type(error).__name__}), so nothing is indexed. "
            "Reinstall kingfisher-secret-scanner in the version this package pins."
        ) from error
    if len(rules) < _MINIMUM_RULES:
        raise MemoryPipelineError(
            f"The secret scanner has {len(rules)} rules instead of more than {_MINIMUM_RULES}, so nothing is indexed. "
            "Reinstall kingfisher-secret-scanner in the version this package pins."
        )
    return scanner


def _rebuilt(rules: type[Rules], cache_dir: Path) -> Rules:
    """The rebuilt rules and the signals. Their text is kept in the cache folder, so that a warm start skips a load."""
    path = cache_dir / f"rules-{rules_version()}.toml"
    if path.exists():
        with contextlib.suppress(Exception):  # damaged: written again below
            return rules([path], builtins=False, cache_dir=cache_dir)
    shipped = rules(cache_dir=cache_dir)
    details = [shipped.detail(rule["id"]) for rule in shipped.metadata()]
    signals = [_toml(f"signal.0.{name}", pattern) for name, pattern in SIGNALS.items()]
    found = _vendor_rules(details)
    try:
        _write(path, [*found, *signals])
        return rules([path], builtins=False, cache_dir=cache_dir)
    except Exception:  # one rule of a form that was not foreseen; without it the others still hold
        _write(path, [*(rule for rule in found if _loads(rules, rule, cache_dir)), *signals])
        return rules([path], builtins=False, cache_dir=cache_dir)


def _loads(rules: type[Rules], rule: str, cache_dir: Path) -> bool:
    path = cache_dir / f"probe.{os.getpid()}.toml"
    try:
        _write(path, [rule])
        return len(rules([path], builtins=False, cache=False)) == 1
    except Exception:
        return False
    finally:
        path.unlink(missing_ok=True)


def _write(path: Path, found: list[str]) -> None:
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    unfinished.touch(mode=0o600)
    unfinished.write_text("\n".join(found), encoding="utf-8")
    unfinished.replace(path)


def _vendor_rules(details: list[dict[str, Any]]) -> list[str]:
    rules = []
    for number, detail in enumerate(details):
        kind = kind_of(detail["id"])
        if detail["id"] in _SUPERSEDED or (not detail["visible"] and kind.endswith(_PUBLIC)):
            continue
        group = detail.get("betterleaks_secret_group") or 0
        tree = detail.get("betterleaks_filter")
        source = "vendor"
        try:
            condition = _expression(tree) if tree else ""
        except (KeyError, TypeError, ValueError):  # a form of filter that is not known here: the detector judges
            source, condition = "unfiltered", ""
        rules.append(_toml(f"{source}.{number}.{kind}", _with_loose_end(detail["detection_regex"]), group, condition))
    return rules


def kind_of(rule_id: str) -> str:
    """``betterleaks.abuseipdb-api-key.1`` → ``abuseipdb-api-key``."""
    name = re.split(r"[./]", re.sub(r"\.\d+$", "", rule_id))[-1]
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "secret"


def _with_loose_end(pattern: str) -> str:
    for end in _STRICT_ENDS:
        if pattern.endswith(end):
            return pattern.removesuffix(end) + _LOOSE_END
        if pattern.endswith(end + ")"):
            return pattern.removesuffix(end + ")") + _LOOSE_END + ")"
    return pattern


def _toml(rule_id: str, pattern: str, group: int = 0, condition: str = "") -> str:
    # A JSON string is a TOML string.
    lines = ["[[rules]]", f"id = {json.dumps(rule_id)}", 'description = "-"', f"regex = {json.dumps(pattern)}"]
    if group:
        lines.append(f"secretGroup = {group}")
    if condition:
        lines.append(f"filter = {json.dumps(condition)}")
    return "\n".join([*lines, ""])


def _expression(node: dict[str, Any]) -> str:
    """A filter as Kingfisher prints it (a tree) in the notation that it reads.

    Raises ValueError for a node that is not known here.
    """
    match node["kind"]:
        case "string":
            return json.dumps(node["value"])
        case "identifier" | "float" | "integer":
            return str(node["value"])
        case "bool":
            return str(node["value"]).lower()
        case "array":
            return f"[{', '.join(map(_expression, node['nodes']))}]"
        case "unary":
            return f"{node['operator']}({_expression(node['node'])})"
        case "binary":
            return f"({_expression(node['left'])} {node['operator']} {_expression(node['right'])})"
        case "call":
            return f"{_expression(node['callee'])}({', '.join(map(_expression, node['arguments']))})"
        case "member":
            name = node["property"]["value"]
            return _expression(node["node"]) + (f".{name}" if node["method"] else f"[{json.dumps(name)}]")
        case other:
            raise ValueError(other)
