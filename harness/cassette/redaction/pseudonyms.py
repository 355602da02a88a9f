"""Texts as bytes, and what stands for a known secret in them."""


def pseudonym_of(name: str) -> bytes:
    """The replacement of a known secret."""
    return f"<secret:{name}>".encode()


def encoded(text: str) -> tuple[bytes, str]:
    """The text's bytes, with invalid UTF-8 kept as it was, and how the errors were handled."""
    try:
        return text.encode("utf-8", "surrogateescape"), "surrogateescape"
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass"), "surrogatepass"
