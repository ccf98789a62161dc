"""Secrets of other vendors and lines of other kinds than the shared generator has, written before the rules were.

All random with a fixed seed, and put together at run time so that no scanner takes this file for a leak.
"""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Iterator
from urllib.parse import quote

MIXED = string.ascii_letters + string.digits
LOWER = string.ascii_lowercase + string.digits
HEX = "0123456789abcdef"
URL_SAFE = MIXED + "-_"
Line = tuple[str, str, list[str]]
"""A name, a text, and the parts of it that must go."""


class Fake:
    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def of(self, alphabet: str, length: int) -> str:
        """Random, and as real ones are: with a digit and a letter among the first five."""
        while True:
            text = "".join(self._random.choice(alphabet) for _ in range(length))
            if any(c.isdigit() for c in text[:5]) and any(c.isalpha() for c in text[:5]):
                return text

    def password(self) -> str:
        return self.of(string.ascii_uppercase + LOWER, 7) + self._random.choice("!%+*") + self.of(LOWER, 5)

    def human(self) -> str:
        """As people choose them: a word, a number, a sign."""
        words = ["Sunflower", "Bluebird", "Regenbogen", "Mountain", "Fussball"]
        return self._random.choice(words) + str(self._random.randrange(1000, 9999)) + self._random.choice("!?#$")

    def base64(self, count: int) -> str:
        return base64.b64encode(self._random.randbytes(count)).decode()


def vendor_lines(seed: int = 5) -> Iterator[Line]:
    """Keys that speak for themselves: prefixes and shapes that no rule here names."""
    f = Fake(seed)
    for prefix, alphabet, length in [
        ("nvx_live_", MIXED, 32),
        ("qdr-sk-", LOWER, 40),
        ("tok_prod_", MIXED, 28),
        ("rpk1_", MIXED, 43),
        ("acme_pat_", MIXED, 36),
        ("zk_secret_", URL_SAFE, 32),
        ("mcp-key-", HEX, 48),
        ("lnk.at.", URL_SAFE, 40),
        ("OPSK_", string.ascii_uppercase + string.digits, 32),
    ]:
        key = prefix + f.of(alphabet, length)
        yield f"{prefix} in prose", f"I rotated {key} yesterday, please test it.", [key[len(prefix) :]]
        yield f"{prefix} in code", f'client = Client("{key}")', [key[len(prefix) :]]
    body = f.of(URL_SAFE, 68)
    hook = f"https://discord.com/api/webhooks/{'118' * 6}/{body}"
    yield "discord webhook", f"curl -d @x.json {hook}", [body]
    yield "age key", "AGE-SECRET-" + "KEY-1" + (k := f.of("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58)), [k]
    yield (
        "otp address",
        f"otpauth://totp/Corp:ann?secret={(k := f.of('ABCDEFGHIJKLMNOPQRSTUVWXYZ234567', 32))}&issuer=C",
        [k],
    )
    sig = f.of(HEX, 64)
    yield "signed address", f"https://b.s3.amazonaws.com/x?X-Amz-Expires=900&X-Amz-Signature={sig}", [sig]
    lines = [f.base64(48) for _ in range(14)]
    start, end = "-----BEGIN PGP " + "PRIVATE KEY BLOCK-----", "-----END PGP " + "PRIVATE KEY BLOCK-----"
    yield "pgp key", "\n".join([start, "", *lines, end]), lines
    start, end = "-----BEGIN DSA " + "PRIVATE KEY-----", "-----END DSA " + "PRIVATE KEY-----"
    yield "key in one line", "KEY='" + "\\n".join([start, *lines, end]) + "'", lines
    yield "key with its head only", "\n".join(["it prints", start, *lines[:6], "and then stops"]), lines[:6]
    key = f.base64(32)
    yield "wireguard", f"[Interface]\nPrivateKey = {key}\nAddress = 10.0.0.2/32", [key]
    yield "ansible vault line", f"vault_db_password: {(k := f.password())}", [k]


def password_lines(seed: int = 6) -> Iterator[Line]:
    """Passwords and keys that only the line around them gives away."""
    f = Fake(seed)
    templates = [
        "spring.datasource.password={}",
        "$env:DB_PASS = '{}'",
        "      MYSQL_ROOT_PASSWORD: {}",
        "      - POSTGRES_PASSWORD={}",
        'variable "db_password" {{ default = "{}" }}',
        'admin_password = "{}"',
        "<password>{}</password>",
        '<add key="SmtpPassword" value="{}" />',
        '<user name="bob" password="{}"/>',
        "machine api.corp.net login bob password {}",
        "db.corp.net:5432:prod:app:{}",
        "echo 'root:{}' | chpasswd",
        "mysql -u root -p{} shop",
        "sshpass -p '{}' ssh root@10.0.0.4",
        "redis-cli -h cache -a {} ping",
        "docker login -u bob -p {} registry.corp.net",
        '["mysqldump", "--password={}", "shop"]',
        '["psql-login", "--password", "{}"]',
        "curl -u bob:{} https://api.corp.net/v1",
        "curl --user 'bob:{}' https://api.corp.net/v1",
        "CREATE USER app IDENTIFIED BY '{}';",
        "ALTER ROLE app WITH LOGIN PASSWORD '{}';",
        "Server=db;Database=x;User Id=sa;Password={};Encrypt=yes",
        "jdbc:oracle:thin:scott/{}@db.corp.net:1521/ORCL",
        "jdbc:mysql://db:3306/x?user=app&password={}",
        "amqp://guest:{}@mq.corp.net:5672/",
        "smtp://mailer:{}@mail.corp.net:587",
        "Password is: {}",
        "Your temporary password: {}",
        "pw: {}",
        "user bob / pass {}",
        "the admin credentials are admin / {}",
        "login with admin:{} please",
        "Das Kennwort ist {}.",
        "Zugangsdaten: Benutzer max, Passwort: {}",
        "mot de passe : {}",
        "contraseña: {}",
        'String dbPassword = "{}";',
        "const password = '{}';",
        'private static final String SECRET = "{}";',
        'os.environ["API_SECRET"] = "{}"',
        'setenv DB_PASSWORD "{}"',
        ':password => "{}",',
        "  'password' => '{}',",
        'let passphrase: &str = "{}";',
        'requests.get(url, auth=("bob", "{}"))',
        "wpa_passphrase={}",
        "net use Z: \\\\srv\\share {} /user:bob",
        "| admin | {} | password |",
        "password%3D{}",
        "&quot;password&quot;: &quot;{}&quot;",
        '{{\\"password\\": \\"{}\\"}}',
        "kubectl create secret generic db --from-literal=password={}",
        "helm install x --set auth.rootPassword={}",
        "az login -u bob@corp.net -p {}",
        "PGPASSWORD={} psql -h db app",
        "openssl enc -aes-256-cbc -k {} -in a",
        "gpg --batch --passphrase {} -d x.gpg",
        "Set-Cookie: sid={}; Path=/; HttpOnly",
        "X-Auth-Token: {}",
        "Proxy-Authorization: Basic {b64}",
        "stringData:\n  password: {}",
        "kind: Secret\ndata:\n  db-password: {b64}",
        'hcl_token = "{long}"',
        "token: {long}",
        'headers = {{"X-Api-Key": "{long}"}}',
        "api key: {long}",
        "the API key is {long}",
        "ENCRYPTION_KEY={hex}",
        "JWT_SECRET={long}",
        'SESSION_SECRET: "{hex}"',
        "?api_key={long}&q=1",
        "#access_token={long}&token_type=bearer",
        "bob:{htpasswd}",
        "recovery codes: {codes}",
    ]
    for number, template in enumerate(templates):
        secret = f.human() if number % 3 == 2 else f.password()
        if "{b64}" in template:
            secret = base64.b64encode(f"bob:{secret}".encode()).decode()
        elif "{long}" in template:
            secret = f.of(MIXED, 32)
        elif "{hex}" in template:
            secret = f.of(HEX, 64)
        elif "{htpasswd}" in template:
            secret = "$apr1$" + f.of(MIXED, 8) + "$" + f.of(MIXED, 22)
        elif "{codes}" in template:
            secret = " ".join(f"{f.of(LOWER, 5)}-{f.of(LOWER, 5)}" for _ in range(4))
        text = template.format(secret, b64=secret, long=secret, hex=secret, htpasswd=secret, codes=secret)
        if "://" in template and "{}@" in template:
            text = text.replace(secret, secret := quote(secret, safe=""))
        parts = secret.split() if "{codes}" in template else [secret.removeprefix("$apr1$")]
        yield template, text, parts
