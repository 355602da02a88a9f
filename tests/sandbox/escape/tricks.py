"""What a program leaves to deceive or to exhaust whoever reads its files back: `tricks.py NAME SECRET`, in its folder.

SECRET is the path of a file that only the reader can read.
"""

import contextlib
import json
import os
import socket
import sys

MANY = 1_000_000
"""Unless a third argument says otherwise."""


def link_to_a_file(secret):
    os.symlink(secret, "stolen")


def link_to_a_folder(secret):
    os.symlink(os.path.dirname(secret), "folder")


def link_upwards(secret):
    os.symlink("../" * 30 + secret.lstrip("/"), "stolen")


def folder_that_becomes_a_link(secret):
    """A sealed folder is one no more."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink("sealed/note")
        os.rmdir("sealed")
    os.symlink(os.path.dirname(secret), "sealed")


def link_to_itself(secret):
    os.symlink("loop", "loop")
    os.mkdir("round")
    os.symlink("..", "round/round")


def hard_links(secret):
    with open("one", "wb") as stream:
        stream.write(b"x" * (4 << 20))
    for number in range(40):
        os.link("one", f"another-{number}")
    with contextlib.suppress(OSError):
        os.link("/etc/shadow", "shadow")


def devices(secret):
    os.mkfifo("fifo")
    with contextlib.suppress(OSError):
        os.mknod("device", 0o020666, os.makedev(1, 5))  # /dev/zero, which has no end
    with socket.socket(socket.AF_UNIX) as link:
        link.bind("socket")


def huge_sparse_file(secret):
    os.truncate(os.open("huge", os.O_CREAT | os.O_WRONLY), 1 << 40)


def many_small_files(secret):
    with contextlib.suppress(OSError):  # there are no more
        for number in range(int(sys.argv[3]) if len(sys.argv) > 3 else MANY):
            os.close(os.open(f"{number}", os.O_CREAT | os.O_WRONLY))


def odd_names(secret):
    for name in (b"new\nline", b"inv\xff\xfe", b"-rf", b"\x1b[2J", b"..\\..\\x", b"a" * 255, b" ", b"\x01"):
        os.close(os.open(name, os.O_CREAT | os.O_WRONLY))


def deeper_than_a_path(secret):
    for _ in range(30):
        os.mkdir("d" * 200)
        os.chdir("d" * 200)
    os.close(os.open("end", os.O_CREAT | os.O_WRONLY))


def shut_folders(secret):
    os.makedirs("shut/inner")
    os.chmod("shut", 0)


TRICKS = {
    function.__name__.replace("_", " "): function
    for function in (
        link_to_a_file,
        link_to_a_folder,
        link_upwards,
        folder_that_becomes_a_link,
        link_to_itself,
        hard_links,
        devices,
        huge_sparse_file,
        many_small_files,
        odd_names,
        deeper_than_a_path,
        shut_folders,
    )
}


def main():
    if len(sys.argv) == 1:
        print(json.dumps(list(TRICKS)))
    else:
        TRICKS[sys.argv[1]](sys.argv[2])


if __name__ == "__main__":
    main()
