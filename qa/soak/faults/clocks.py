"""A wall clock that jumps while a run goes on, and a harness that is stopped and goes on later. Needs gcc."""

from pathlib import Path

from qa.soak.faults.surroundings import Fault

_SOURCE = Path(__file__).with_name("stepped_clock.c")
_HOUR_NS = 3_600_000_000_000
_SAME = (
    "for f in runs/before/trials/*/1; do c=$(basename $(dirname $f)); "
    "cmp $f/scorecard.json runs/it/trials/$c/1/scorecard.json || exit 9; done; rm -f $TMPDIR/step*"
)
_STEPPED = (
    f"gcc -shared -fPIC -O2 -Wall -Werror -o $TMPDIR/step.so {_SOURCE} || exit 99; head -c 8 /dev/zero > $TMPDIR/step; "
    "STEP_FILE=$TMPDIR/step LD_PRELOAD=$TMPDIR/step.so HARNESS run SUITE --sandbox {sandbox} --jobs 1 --run-name it & "
    "until ls runs/it/trials/*/1 >&/dev/null || ! kill -0 $!; do sleep 0.05; done; {stop}"
    "python3 -c \"import struct; open('$TMPDIR/step', 'r+b').write(struct.pack('q', {ns}))\"; {go_on}wait $! && "
)


def _moved(what: str, ns: int, sandbox: str, *, stopped: bool = False) -> Fault:
    stop, go_on = ("kill -STOP $!; ", "sleep 3; kill -CONT $!; ") if stopped else ("", "")
    script = _STEPPED.format(sandbox=sandbox, ns=ns, stop=stop, go_on=go_on) + _SAME
    return Fault(what=f"{sandbox}: {what}", script=script, says="4/4 passed")


FAULTS = tuple(
    fault
    for sandbox in ("local", "docker", "docker-warm")
    for fault in (
        _moved("clock stepped back by an hour", -_HOUR_NS, sandbox),
        _moved("clock stepped forward by an hour", _HOUR_NS, sandbox),
        _moved("stopped, clock moved by an hour, continued", _HOUR_NS, sandbox, stopped=True),
        _moved("stopped, clock moved back by an hour, continued", -_HOUR_NS, sandbox, stopped=True),
    )
)
