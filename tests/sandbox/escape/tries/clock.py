"""The machine's clock."""

import ctypes
import errno
import struct

from attempt import X86, a_try, call


@a_try
def set_the_clock():
    return call(227 if X86 else 112, 0, struct.pack("qq", 0, -1), reachable=(errno.EINVAL,))


@a_try
def set_the_time_of_day():
    return call(164 if X86 else 170, struct.pack("qq", 0, -1), None, reachable=(errno.EINVAL,))


@a_try
def slow_the_clock_down():
    return call(
        159 if X86 else 171, ctypes.create_string_buffer(struct.pack("I", 0x4000), 208), reachable=(errno.EINVAL,)
    )


@a_try
def slow_one_clock_down():
    change = ctypes.create_string_buffer(struct.pack("I", 0x4000), 208)  # ADJ_TICK, to no length that is possible
    return call(305 if X86 else 266, 0, change, reachable=(errno.EINVAL,))
