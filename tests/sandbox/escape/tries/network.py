"""The network: everything but the one door."""

import contextlib
import ctypes
import errno
import fcntl
import mmap
import os
import socket
import struct

from attempt import WORLD, X86, a_try, call, connected


@a_try
def tcp_to_the_host():
    return connected(socket.AF_INET, (WORLD["address"], WORLD["tcp"]))


@a_try
def tcp_to_the_loopback_of_the_host():
    return connected(socket.AF_INET, ("127.0.0.1", WORLD["tcp"]))


@a_try
def tcp_over_ipv6():
    return connected(socket.AF_INET6, ("::1", WORLD["tcp6"]))


@a_try
def udp_as_a_name_server_is_asked():
    return connected(socket.AF_INET, (WORLD["address"], WORLD["udp"]), socket.SOCK_DGRAM)


@a_try
def raw_ip():
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).close()
    return "made a raw socket"


@a_try
def packets():
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()
    return "made a packet socket"


@a_try
def vsock():
    socket.socket(40, socket.SOCK_STREAM).close()
    return "made a socket to the hypervisor"


@a_try
def kernel_crypto():
    socket.socket(38, socket.SOCK_SEQPACKET).close()
    return "made an AF_ALG socket"


@a_try
def a_second_interface():
    names = sorted(name for _, name in socket.if_nameindex() if name != "lo")
    if not names:
        raise OSError(errno.ENODEV, "only the loopback")
    return f"sees {names}"


@a_try
def an_abstract_socket_of_the_host():
    return connected(socket.AF_UNIX, "\0" + WORLD["abstract"])


@a_try
def the_door_of_another_trial():
    return connected(socket.AF_UNIX, WORLD["door"])


@a_try
def the_metadata_of_a_cloud():
    return connected(socket.AF_INET, ("169.254.169.254", 80))


@a_try
def tcp_to_the_bridge_of_the_engine():
    return connected(socket.AF_INET, (WORLD["bridge"], WORLD["tcp"]))


@a_try
def other_families_of_sockets():
    for family in set(range(50)) - {socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK}:
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
            with contextlib.suppress(OSError):
                socket.socket(family, kind).close()
                return f"made a socket of family {family}"
    raise OSError(errno.EAFNOSUPPORT, "there is no other family")


@a_try
def sockets_by_32_bit_calls():
    """`int 0x80` numbers its calls otherwise than a filter for 64 bits expects."""
    if not X86:
        raise OSError(errno.ENOSYS, "not on this processor")
    number, family, kind = 359, 40, 1  # socket, AF_VSOCK, SOCK_STREAM
    code = b"\x53\xb8" + struct.pack("<I", number) + b"\xbb" + struct.pack("<I", family) + b"\xb9"
    code += struct.pack("<I", kind) + b"\x31\xd2\xcd\x80\x5b\xc3"
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    at = ctypes.addressof(ctypes.c_char.from_buffer(page))
    result = ctypes.CFUNCTYPE(ctypes.c_int)(at)()
    if result < 0:
        raise OSError(-result, os.strerror(-result))
    os.close(result)
    return "made a socket that the filter does not see"


@a_try
def sockets_by_the_calls_of_x32():
    return call(0x4000_0000 | 41, 40, 1, 0)


@a_try
def set_an_interface():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        now = fcntl.ioctl(asked.fileno(), 0x8921, struct.pack("16si12x", b"lo", 0))  # SIOCGIFMTU
        fcntl.ioctl(asked.fileno(), 0x8922, now)  # SIOCSIFMTU, to what it is
    return "set the loopback"


@a_try
def names_of_the_sockets_of_the_host():
    with open("/proc/net/unix") as stream:
        if WORLD["abstract"] not in stream.read():
            raise OSError(errno.ENOENT, "only its own are listed")
    return "sees the sockets of the host"
