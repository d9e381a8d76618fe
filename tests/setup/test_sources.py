"""pip's settings, the one place for torch, and whether an index answers."""

from __future__ import annotations

import os
import socket
import threading

import pytest

from labkit.setup import sources
from labkit.setup.sources import PipSettings

CONFIG = """\
:env:.find-links='/wheels'
:env:.cert='/env.pem'
download.timeout='3'
global.cert='/global.pem'
global.extra-index-url='https://a.example/simple https://b.example/simple'
global.index-url='https://mirror.example/simple'
global.proxy=''
install.constraint='/c1.txt\\n/c2.txt'
install.user='true'
"""


def test_pips_own_order_of_settings():
    values = sources.parse_pip_config(CONFIG)
    assert values["cert"] == "/env.pem"  # a variable wins over a file
    assert values["index-url"] == "https://mirror.example/simple"
    assert "timeout" not in values and "proxy" not in values  # of another command; empty
    assert PipSettings(values).adds_places == ("extra-index-url", "find-links")


def test_for_the_default_index_pips_settings_stay_as_they_are():
    settings = PipSettings(sources.parse_pip_config(CONFIG))
    environ = {"PIP_FIND_LINKS": "/wheels", "PIP_CERT": "/env.pem", "PATH": "/bin"}
    result = sources.pip_environment(environ, PipSettings({"find-links": "/wheels"}), only=False, own=True)
    assert {key: result[key] for key in environ} == environ and "PIP_CONFIG_FILE" not in result
    own = sources.pip_environment(environ, settings, only=False, own=True)
    assert (
        own["PIP_INDEX_URL"] == "https://mirror.example/simple" and "PIP_USER" not in own
    )  # --user would leave the environment


def test_for_torchs_index_only_the_places_are_dropped():
    settings = PipSettings(sources.parse_pip_config(CONFIG))
    environ = {"PIP_FIND_LINKS": "/wheels", "PIP_CERT": "/env.pem", "PIP_NO_INDEX": "1", "PATH": "/bin"}
    result = sources.pip_environment(environ, PipSettings({**settings.values, "no-index": "1"}), only=True, own=True)
    assert not {"PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_INDEX_URL", "PIP_NO_INDEX", "PIP_USER"} & set(result)
    assert result["PIP_CERT"] == "/env.pem" and result["PIP_CONSTRAINT"] == "/c1.txt /c2.txt"
    assert result["PIP_CONFIG_FILE"] == os.devnull


def test_never_an_extra_index(tmp_path, wheel):
    assert sources.place_arguments(None) == ()
    assert sources.place_arguments("https://x.example/whl/cpu") == ("--index-url", "https://x.example/whl/cpu")
    wheel(tmp_path / "flat é", "torch", "2.14.1+cpu")
    assert sources.place_arguments((tmp_path / "flat é").as_uri()) == (
        "--no-index",
        "--find-links",
        str(tmp_path / "flat é"),
    )
    wheel(tmp_path / "simple" / "torch", "torch", "2.14.1+cpu")
    assert sources.place_arguments(str(tmp_path / "simple")) == ("--index-url", (tmp_path / "simple").as_uri())


def never(url: str) -> bool:
    raise AssertionError("pip was asked")


def test_a_direct_connection_is_tried(monkeypatch):
    nothing = PipSettings({})
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/cpu"
        assert sources.reachable(url, nothing, ask_pip=never, proxies=dict)
    assert not sources.reachable(url, nothing, ask_pip=never, proxies=dict)


def test_a_name_that_is_never_resolved_does_not_take_long(monkeypatch):
    release = threading.Event()

    def resolve(*args: object, **kwargs: object) -> None:
        release.wait(30)
        raise OSError("no such name")

    monkeypatch.setattr(socket, "create_connection", resolve)
    assert not sources.reachable("https://x.example/", PipSettings({}), ask_pip=never, seconds=0.1, proxies=dict)
    release.set()


@pytest.mark.parametrize(
    ("settings", "proxies"),
    [({"proxy": "http://p"}, {}), ({"index-url": "https://mirror.example"}, {}), ({}, {"https": "http://p"})],
)
def test_behind_a_proxy_or_a_mirror_pip_decides(settings, proxies):
    for answer in (True, False):
        assert (
            sources.reachable(
                "https://x.example/cpu",
                PipSettings(settings),
                proxies=lambda: proxies,
                ask_pip=lambda url, answer=answer: answer,
            )
            is answer
        )


def test_a_folder_is_there_or_not(tmp_path):
    assert sources.reachable(tmp_path.as_uri(), PipSettings({}), ask_pip=never)
    assert not sources.reachable((tmp_path / "no").as_uri(), PipSettings({}), ask_pip=never)
