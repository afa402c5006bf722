"""Where a backend listens: OLLAMA_HOST in all the forms that Ollama itself accepts, as one base URL."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

DEFAULT_PORT = 11434
_SCHEME_PORTS = {"http": 80, "https": 443}
_MAX_PORT = 65535


def base_url(host: str) -> str:
    """HOST as a base URL without a slash at its end; empty is Ollama's default.

    Without a scheme it is http on port 11434; `http://` alone means port 80, `https://` 443, as in Ollama. An
    unspecified address (0.0.0.0, ::) is one to listen on, so the loopback address takes its place. A path is kept.
    Raises ValueError, with the reason, for what is no address.
    """
    text = host.strip().strip("\"'").strip()
    if not text.isascii():
        raise ValueError("it has letters beyond ASCII; write the host's name in its xn-- form")
    if any(mark in text for mark in "@?#"):
        raise ValueError("a user, a query or a fragment does not belong there")
    scheme, separator, rest = text.partition("://")
    if not separator:
        scheme, rest = "http", text
    scheme = scheme.lower()
    if scheme not in _SCHEME_PORTS:
        raise ValueError(f"the scheme {scheme!r} is neither http nor https")
    authority, slash, path = rest.partition("/")
    name, port = _split(authority)
    if port is None:
        port = _SCHEME_PORTS[scheme] if separator else DEFAULT_PORT
    url = f"{scheme}://{_reachable(name)}:{port}{slash}{path}".rstrip("/")
    if any(char.isspace() or not char.isprintable() for char in url) or urlsplit(url).hostname is None:
        raise ValueError("it is no host, host:port or URL")
    return url


def is_loopback(url: str) -> bool:
    """Whether URL names this machine."""
    name = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")


def _split(authority: str) -> tuple[str, int | None]:
    """Host and port of `host`, `host:port`, `:port`, `[v6]`, `[v6]:port` and of a bare IPv6 address."""
    if authority.count(":") > 1 and not authority.startswith("["):
        return authority, None
    name, colon, port = authority.rpartition(":")
    if not colon or port.endswith("]"):
        name, port = authority, ""
    if not port:
        return name, None
    if not (port.isascii() and port.isdigit()) or not 0 < int(port[:6]) <= _MAX_PORT:
        raise ValueError(f"the port {port[:20]!r} is no number from 1 to {_MAX_PORT}")
    return name, int(port)


def _reachable(name: str) -> str:
    bare = name.removeprefix("[").removesuffix("]")
    if not bare:
        return "127.0.0.1"
    try:
        address = ipaddress.ip_address(bare.partition("%")[0])
    except ValueError:
        return name
    if address.is_unspecified:
        return "127.0.0.1" if address.version == 4 else "[::1]"
    return f"[{bare}]" if address.version == 6 else bare
