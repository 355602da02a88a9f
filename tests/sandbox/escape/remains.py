"""What one trial leaves for another to find: `remains.py leave NAME TOKEN`, and elsewhere `remains.py find NAME TOKEN`.

What is left is held for as long as the machine lets it be: by a process that has cut every tie to the one that began.
"""

import contextlib
import ctypes
import json
import os
import socket
import sys
import time

LIBC = ctypes.CDLL(None, use_errno=True)
HELD_S = 120


def number_of(token):
    return int.from_bytes(token.encode()[:3], "big")


def checked(result):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def abstract_socket(token):
    link = socket.socket(socket.AF_UNIX)
    link.bind("\0" + token)
    link.listen(1)
    return link


def find_abstract_socket(token):
    with socket.socket(socket.AF_UNIX) as link:
        link.connect("\0" + token)


def port(token):
    return socket.create_server(("127.0.0.1", 20_000 + number_of(token) % 10_000))


def find_port(token):
    socket.create_connection(("127.0.0.1", 20_000 + number_of(token) % 10_000), 5).close()


def shared_segment(token):
    checked(LIBC.shmget(number_of(token), 4096, 0o1666))


def find_shared_segment(token):
    checked(LIBC.shmget(number_of(token), 4096, 0o666))


def message_queue(token):
    checked(LIBC.msgget(number_of(token), 0o1666))


def find_message_queue(token):
    checked(LIBC.msgget(number_of(token), 0o666))


def semaphores(token):
    checked(LIBC.semget(number_of(token), 1, 0o1666))


def find_semaphores(token):
    checked(LIBC.semget(number_of(token), 1, 0o666))


def file_in(folder):
    def leave(token):
        with open(f"{folder}/{token}", "w") as stream:
            stream.write(token)

    return leave


def find_file_in(folder):
    return lambda token: os.stat(f"{folder}/{token}")


def process(token):
    """Its name is the token, and it ignores every signal that can be ignored."""
    LIBC.prctl(15, token.encode(), 0, 0, 0)


def find_process(token):
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{name}/comm") as stream:
            if stream.read().strip() == token[:15]:
                return
    raise ProcessLookupError(3, "no such process")


def terminal(token):
    master, slave = os.openpty()
    return master, slave


def find_terminal(token):
    if not [name for name in os.listdir("/dev/pts") if name.isdigit()]:
        raise FileNotFoundError(2, "no terminal")


REMAINS = {
    "an abstract socket": (abstract_socket, find_abstract_socket),
    "a port": (port, find_port),
    "a shared segment": (shared_segment, find_shared_segment),
    "a message queue": (message_queue, find_message_queue),
    "semaphores": (semaphores, find_semaphores),
    "a file in /dev/shm": (file_in("/dev/shm"), find_file_in("/dev/shm")),
    "a file in /tmp": (file_in("/tmp"), find_file_in("/tmp")),
    "a process": (process, find_process),
    "a terminal": (terminal, find_terminal),
}


def hold(leave, token):
    """In a process of its own session, that the one that began neither waits for nor knows."""
    read_end, write_end = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            held = leave(token)
            os.write(write_end, b"1")
            for fd in (0, 1, 2):
                os.close(fd)
            time.sleep(HELD_S)
            del held
        os._exit(0)
    os.close(write_end)
    if os.read(read_end, 1) != b"1":
        raise OSError(5, "it could not be left")


def main():
    if len(sys.argv) == 1:
        print(json.dumps(list(REMAINS)))
        return
    do, name, token = sys.argv[1:4]
    leave, find = REMAINS[name]
    try:
        hold(leave, token) if do == "leave" else find(token)
    except OSError as refused:
        print(json.dumps({"done": False, "what": f"{type(refused).__name__}: {refused}"}))
    else:
        print(json.dumps({"done": True, "what": name}))
    sys.stdout.flush()
    if do == "leave" and len(sys.argv) > 4:
        open(f"left-{token}", "w").close()
        time.sleep(float(sys.argv[4]))  # the program that began goes on


if __name__ == "__main__":
    main()
