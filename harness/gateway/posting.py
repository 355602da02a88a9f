"""Requests with credentials, to the address that was named and to no other."""

import urllib.error
import urllib.request
from http.client import HTTPResponse
from typing import Final, cast

from typing_extensions import override

_TIMEOUT_S: Final = 30.0
_LATER: Final = (429, 502, 503, 504)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows none: urllib would send the headers, with their credentials, to any host that a redirect names."""

    @override
    def redirect_request(self, *_: object) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirect)


def post(request: urllib.request.Request) -> HTTPResponse:
    """Sends a request. Raises HTTPError for every status but 2xx, redirects included, and OSError."""
    return cast(HTTPResponse, _OPENER.open(request, timeout=_TIMEOUT_S))


def refusal(error: urllib.error.HTTPError) -> tuple[bool, str]:
    """Whether to send it again later, and the reason in words."""
    with error:
        redirect = ", a redirect, which is not followed" if 300 <= error.code < 400 else ""
    return error.code in _LATER, f"HTTP {error.code}{redirect}"
