"""Fields whose values are secret by the field's name."""

from functools import lru_cache

from harness.values import JsonValue

_SECRET_FIELDS = frozenset(
    {
        "accesskey",
        "accesstoken",
        "apikey",
        "apisecret",
        "authorization",
        "authtoken",
        "bearertoken",
        "clientsecret",
        "cookie",
        "idtoken",
        "passphrase",
        "passwd",
        "password",
        "privatekey",
        "refreshtoken",
        "secret",
        "secretkey",
        "sessiontoken",
        "setcookie",
        "token",
        "xapikey",
    }
)
_STEMS = ("token", "secret", "cookie", "authorization", "key", "pass")
"""Each of the fields contains one of these."""


def plain_name(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    return plain_name(name) in _SECRET_FIELDS


def may_name_a_secret(text: str) -> bool:
    """Whether a name in this JSON may be secret: a look at the text takes less time than one at each name."""
    return any(map(plain_name(text).__contains__, _STEMS))


def names_a_secret(value: JsonValue) -> bool:
    if isinstance(value, dict):
        return any(map(is_secret_name, value)) or any(map(names_a_secret, value.values()))
    return isinstance(value, list) and any(map(names_a_secret, value))
