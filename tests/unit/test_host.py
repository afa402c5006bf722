"""OLLAMA_HOST in all the forms that Ollama itself takes."""

import re

import pytest

from neuron_council.maker.host import base_url, is_loopback


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://127.0.0.1:11434"),
        ("   ", "http://127.0.0.1:11434"),
        ("1.2.3.4", "http://1.2.3.4:11434"),
        ("example.com", "http://example.com:11434"),
        ("localhost", "http://localhost:11434"),
        ("1.2.3.4:5000", "http://1.2.3.4:5000"),
        ("example.com:5000", "http://example.com:5000"),
        (":5000", "http://127.0.0.1:5000"),
        ("http://example.com", "http://example.com:80"),
        ("https://example.com", "https://example.com:443"),
        ("http://example.com:5000", "http://example.com:5000"),
        ("https://example.com:5000", "https://example.com:5000"),
        ("HTTPS://example.com", "https://example.com:443"),
        ("example.com/", "http://example.com:11434"),
        ("example.com:5000/", "http://example.com:5000"),
        ("example.com/proxy", "http://example.com:11434/proxy"),
        ("example.com/proxy/", "http://example.com:11434/proxy"),
        ("https://example.com/a/b/", "https://example.com:443/a/b"),
        ("[::1]", "http://[::1]:11434"),
        ("[::1]:5000", "http://[::1]:5000"),
        ("http://[::1]", "http://[::1]:80"),
        ("::1", "http://[::1]:11434"),
        ("fe80::1", "http://[fe80::1]:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),  # noqa: S104 - an address to reach
        ("0.0.0.0:5000", "http://127.0.0.1:5000"),
        ("http://0.0.0.0:11434", "http://127.0.0.1:11434"),
        ("::", "http://[::1]:11434"),
        ("[::]", "http://[::1]:11434"),
        ("[::]:5000", "http://[::1]:5000"),
        ("  1.2.3.4  ", "http://1.2.3.4:11434"),
        ('"1.2.3.4:5000"', "http://1.2.3.4:5000"),
        ("'1.2.3.4'", "http://1.2.3.4:11434"),
        (' " 1.2.3.4 " ', "http://1.2.3.4:11434"),
        ("example.com:1", "http://example.com:1"),
        ("example.com:65535", "http://example.com:65535"),
        ("http://127.0.0.1:9", "http://127.0.0.1:9"),
    ],
)
def test_every_form(host, url):
    assert base_url(host) == url


@pytest.mark.parametrize("host", ["", "example.com", "::", "https://example.com/a/", "[::1]:5000", ":80"])
def test_a_base_url_is_its_own_base_url(host):
    assert base_url(base_url(host)) == base_url(host)


@pytest.mark.parametrize(
    ("host", "word"),
    [
        ("example.com:99999", "99999"),
        ("example.com:65536", "65536"),
        ("example.com:0", "port"),
        ("example.com:abc", "abc"),
        ("example.com:-1", "-1"),
        ("example.com:1.5", "1.5"),
        ("example.com:²", "ASCII"),
        ("☃.example:9", "xn--"),
        ("127.0.0.1:9/#f", "fragment"),
        ("example.com:" + "9" * 5000, "port"),
        ("[::1]:abc", "abc"),
        ("ftp://example.com", "ftp"),
        ("unix:///tmp/ollama.sock", "unix"),
        ("user:secret@example.com", "user"),
        ("http://user@example.com", "user"),
        ("example.com?x=1", "query"),
        ("example.com#x", "fragment"),
        ("two words", "host"),
        ("exa\nmple.com", "host"),
        ("exa\x00mple.com", "host"),
    ],
)
def test_what_is_no_address_has_a_reason(host, word):
    with pytest.raises(ValueError, match=re.escape(word)) as caught:
        base_url(host)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("url", "loopback"),
    [
        ("http://127.0.0.1:11434", True),
        ("http://127.8.9.1:80", True),
        ("http://[::1]:11434", True),
        ("http://localhost:11434", True),
        ("http://LOCALHOST:11434", True),
        ("http://ollama.localhost", True),
        ("http://192.168.1.2:11434", False),
        ("http://10.0.0.1", False),
        ("http://[fe80::1]:11434", False),
        ("https://ollama.com", False),
        ("http://localhost.example.com", False),
        ("http://notlocalhost", False),
        ("http://127.0.0.1.example.com", False),
    ],
)
def test_loopback(url, loopback):
    assert is_loopback(url) == loopback
