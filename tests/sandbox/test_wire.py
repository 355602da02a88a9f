import os
import socket
import threading
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.sandbox.inside.wire import Channel, FdReceiver, pack, send_with_fd, unpack

_VALUES = st.recursive(
    st.integers() | st.binary(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(_VALUES)
def test_what_is_packed_comes_back(value: object) -> None:
    assert unpack(pack(value)) == value


@given(st.binary(max_size=60))
def test_nonsense_is_an_error_and_no_hang(data: bytes) -> None:
    try:
        value = unpack(data)
    except (ValueError, IndexError, RecursionError, TypeError, AttributeError):
        return
    assert unpack(pack(value)) == value


def test_text_is_bytes_and_none_is_left_out() -> None:
    assert unpack(pack({"a": "\u20ac\udcff", "b": None, "c": ("x",)})) == {"a": b"\xe2\x82\xac\xff", "c": [b"x"]}


def test_frames_and_content_share_a_connection() -> None:
    here, there = socket.socketpair()
    with here, there:
        content = bytes(1_000_000)

        def send() -> None:
            channel = Channel(here)
            channel.send({"size": len(content)})
            channel.send_content(content)
            channel.send({"end": 1})

        sender = threading.Thread(target=send)
        sender.start()
        channel = Channel(there)
        assert channel.receive() == {"size": len(content)}
        assert channel.receive_content(len(content)) == content
        assert channel.receive() == {"end": 1}
        sender.join()


def test_a_descriptor_comes_along_with_its_message_however_long_that_is() -> None:
    here, there = socket.socketpair()
    read, write = os.pipe()
    message = {"do": "trial", "hosts": "127.0.0.1 localhost\n" * 100_000}
    with here, there:
        sender = threading.Thread(target=send_with_fd, args=(here, message, write))
        sender.start()
        along = FdReceiver(there)
        received = Channel(along).receive()
        sender.join()
        os.close(write)

        with closing(os.fdopen(along.taken(), "wb", buffering=0)) as ours:
            ours.write(b"through the copy")
        assert received["hosts"].decode() == message["hosts"]
        assert os.read(read, 100) == b"through the copy"
        with pytest.raises(ValueError, match="descriptor"):
            along.taken()
    os.close(read)


def test_end_of_the_connection_is_told() -> None:
    here, there = socket.socketpair()
    with there:
        here.sendall(b"0000")
        here.close()
        with pytest.raises(EOFError):
            Channel(there).receive()


@pytest.mark.parametrize(
    "sent",
    [
        b"ffffffff",
        b"-0000001",
        b"zzzzzzzz",
        b"00000003i1e",
        b"00000002lee",
        b"00000006l-3:ee",
        b"00000008di1ei2ee",
        b"00002710" + b"l" * 10_000,
    ],
)
def test_nonsense_on_the_connection_is_told(sent: bytes) -> None:
    here, there = socket.socketpair()
    with here, there:
        here.sendall(sent)
        with pytest.raises(ValueError, match=r"."):
            Channel(there).receive()
