"""Makes a network in which the address of a cloud's metadata answers, and runs the program that is named in it."""

import ctypes
import fcntl
import runpy
import socket
import struct
import sys
import threading

ADDRESS = "169.254.169.254"
NEW_NETWORK = 0x4000_0000


def main():
    if ctypes.CDLL(None, use_errno=True).unshare(NEW_NETWORK):
        sys.exit("cannot make a network")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        fcntl.ioctl(asked.fileno(), 0x8914, struct.pack("16sh14x", b"lo", 0x41))  # SIOCSIFFLAGS: up and running
        address = struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(ADDRESS))
        fcntl.ioctl(asked.fileno(), 0x8916, struct.pack("16s16s8x", b"lo:1", address))  # SIOCSIFADDR
    server = socket.create_server((ADDRESS, 80))
    threading.Thread(target=answer, args=(server,), daemon=True).start()
    del sys.argv[0]
    sys.path[0] = sys.argv[0]
    runpy.run_path(sys.argv[0], run_name="__main__")


def answer(server):
    link, _ = server.accept()
    with link:
        link.recv(100)
        link.sendall(b"reached")


main()
