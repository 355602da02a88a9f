"""A certificate authority of one run: it signs certificates of the declared hosts; only this run's sandboxes trust
it.
"""

import ssl
from collections.abc import Callable

import trustme


class Authority:
    """Certificates by host name; made when first needed, by the gateway's own thread."""

    def __init__(self) -> None:
        self._ca = trustme.CA(organization_name="trial-harness", organization_unit_name="certificates of one run")
        self._contexts: dict[str, ssl.SSLContext] = {}

    @property
    def certificate(self) -> bytes:
        """The authority's own certificate, in PEM."""
        return self._ca.cert_pem.bytes()

    def context(self, host: str) -> ssl.SSLContext:
        """The TLS context with the certificate of `host`."""
        if host not in self._contexts:
            made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._ca.issue_cert(host).configure_cert(made)
            self._contexts[host] = made
        return self._contexts[host]

    def context_by_name(self, choose: Callable[[str | None], bool]) -> ssl.SSLContext:
        """The context for a client that names its server only in the handshake; `choose` returns whether that name is
        served.
        """

        def named(connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> int | None:
            wanted = None if name is None else name.lower().rstrip(".")
            if not choose(wanted) or wanted is None:
                return ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
            connection.context = self.context(wanted)
            return None

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.sni_callback = named
        return context
