"""Surroundings in which a command cannot work, or only just: full and read-only disks, limits, locales, streams."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from qa.soak.faults.place import Place
from qa.soak.rows import Row

_RUN = "HARNESS run SUITE --sandbox local --run-name it"
_RECORD = "HARNESS record SUITE --sandbox local --refresh"
_ONE = f"{_RUN} --case Regal-0"
_SHOW = "HARNESS report before"
_RESUMED = "HARNESS run --resume it"
_READ_ONLY = "mount --bind {0} {0} && mount -o remount,ro,bind {0}; "
_IN_CGROUP = (
    "g=/sys/fs/cgroup/pids/faults-$$; mkdir $g && echo {0} > $g/pids.max || exit 99; "
    "(echo $BASHPID > $g/cgroup.procs; exec {1}); s=$?; rmdir $g; exit $s"
)


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What is typed, and what has to come of it."""

    what: str
    script: str
    status: int = 0
    says: str = ""
    """Stands in what is printed, on either stream."""
    env: Mapping[str, str] = field(default_factory=dict)
    quick: bool = False
    """One that every CI run tries."""


FAULTS = (
    Fault(
        what="disk full: runs/, before anything is there",
        script=f"mount -t tmpfs -o size=64k none runs && head -c 66000 /dev/zero > runs/fill; {_RUN}",
        status=3,
        says="No space left on device\n  -> free some space",
    ),
    Fault(
        what="disk full: runs/, in mid-run; then room, and --resume",
        script="mount -t tmpfs -o size=80k none runs; "
        f"{_RUN} --jobs 1; [ $? = 3 ] && mount -o remount,size=9m runs && {_RESUMED}",
        says="No space left on device\n  -> free some space",
        quick=True,
    ),
    Fault(
        what="disk full: TMPDIR, in mid-run; then room, and --resume",
        script=f"mount -t tmpfs -o size=256k,nr_inodes=9 none $TMPDIR; {_RUN}; "
        f"[ $? = 3 ] && mount -o remount,nr_inodes=9k none $TMPDIR && {_RESUMED}",
        says="No space left on device",
    ),
    Fault(
        what="disk full: cassettes/, while recording",
        script="cp -r cassettes kept; mount -t tmpfs -o size=64k none cassettes && cp -r kept/* cassettes && "
        f"head -c 66000 /dev/zero > cassettes/fill; {_RECORD}; s=$?; "
        "cmp kept/SUITE/Regal-0.yaml cassettes/SUITE/Regal-0.yaml && [ $(find cassettes -type f | wc -l) = 5 ] && "
        "rm -r kept && exit $s",
        status=3,
        says="No space left on device",
    ),
    Fault(
        what="disk full: where a report is written to",
        script="mkdir o && mount -t tmpfs -o size=4k none o; "
        f"{_SHOW} --html -o o/it.html; s=$?; umount o; rmdir o; exit $s",
        status=3,
        says="No space left on device",
    ),
    Fault(
        what="disk full: where standard output goes",
        script=f"mkdir o && mount -t tmpfs -o size=4k none o; head -c 4000 /dev/zero > o/fill; "
        f"{_SHOW} --json > o/it; s=$?; umount o; rmdir o; exit $s",
        status=3,
        says="No space left on device",
    ),
    Fault(
        what="read-only: the whole project",
        script=_READ_ONLY.format("$PWD") + f"cd $PWD; {_ONE}",
        status=3,
        says="read-only",
        quick=True,
    ),
    Fault(what="read-only: runs/", script=_READ_ONLY.format("runs") + _ONE, status=3, says="read-only"),
    Fault(
        what="read-only: runs/, reports are read all the same", script=_READ_ONLY.format("runs") + _SHOW, says="before"
    ),
    Fault(
        what="read-only: cassettes/, while recording",
        script=_READ_ONLY.format("cassettes") + f"{_RECORD} --case Regal-0",
        status=3,
        says="Read-only file system",
    ),
    Fault(
        what="read-only: TMPDIR and /tmp",
        script=f"mount -t tmpfs -o ro none $TMPDIR; mount -t tmpfs -o ro none /var/tmp; {_ONE}",
    ),
    Fault(what="no HOME", script=f"env -u HOME {_ONE}"),
    Fault(what="HOME that does not exist", script=_ONE, env={"HOME": "/no/such/home"}),
    Fault(
        what="locale without UTF-8: ASCII",
        script=_ONE,
        env={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        status=2,
        says="PYTHONUTF8=1",
    ),
    Fault(what="locale: LC_ALL=C alone", script=_ONE, env={"LC_ALL": "C"}),
    Fault(
        what="locale that is not there: de_DE.ISO-8859-1", script=_ONE, env={"LC_ALL": "", "LANG": "de_DE.ISO-8859-1"}
    ),
    Fault(what="output in Latin-1", script="HARNESS explain before Regal-0", env={"PYTHONIOENCODING": "latin-1"}),
    Fault(what="output closed", script=f"{_ONE} >&-"),
    Fault(what="all three streams closed", script=f"{_ONE} <&- >&- 2>&-"),
    Fault(
        what="reader gone: report | head -1",
        script=f"(sleep 1; exec {_SHOW}) | true; exit ${{PIPESTATUS[0]}}",
        status=141,
    ),
    Fault(
        what="reader gone: --json | head -1",
        script=f"(sleep 1; exec {_SHOW} --json) | true; exit ${{PIPESTATUS[0]}}",
        status=141,
    ),
    Fault(
        what="terminal of 20 columns",
        script=f"NO_COLOR=1 script -qec 'stty cols 20; {_SHOW} --all' /dev/null",
        says="parameter_validity",
    ),
    Fault(what="no /etc/machine-id", script=f"mount --bind /dev/null /etc/machine-id; {_ONE}"),
    Fault(
        what="TMPDIR with a very long name",
        script=f"mkdir -p $TMPDIR/{'l' * 150} && TMPDIR=$TMPDIR/{'l' * 150} {_ONE}; s=$?; rm -rf $TMPDIR/l*; exit $s",
    ),
    Fault(what="TMPDIR that does not exist", script=f"TMPDIR=/no/such/folder {_ONE}"),
    Fault(what="umask 077", script=f"umask 077; {_ONE}"),
    Fault(what="umask 777", script=f"umask 777; {_ONE}"),
    Fault(what="64 open files", script=f"ulimit -Sn 64; {_RUN} --jobs 4"),
    Fault(what="16 open files and no more", script=f"ulimit -n 16; {_RUN} --jobs 4", status=3, says="open files"),
    Fault(
        what="2 processes or threads",
        script=_IN_CGROUP.format(2, _RUN),
        status=3,
        says="-> allow more processes",
        quick=True,
    ),
    Fault(
        what="launchers of `local` killed in mid-run",
        script=f"{_RUN} --trials 3 --jobs 2 & until ls runs/it/trials/*/1 >&/dev/null; do sleep 0.05; done; "
        "until pkill -KILL -P $!; do sleep 0.02; done; wait $! || HARNESS run --resume it",
        says="12/12 passed",
    ),
    Fault(
        what="8 processes or threads: some trials cannot be started",
        script=_IN_CGROUP.format(8, f"{_RUN} --jobs 4"),
        status=3,
        says="harness failed",
    ),
)


def rows(place: Place, faults: tuple[Fault, ...] = FAULTS) -> Iterator[Row]:
    """One row a fault."""
    for fault in faults:
        before = place.kept()
        done = place.typed(fault.script, fault.env)
        shown = done.stdout + done.stderr
        good = done.returncode == fault.status and fault.says in shown and "Traceback" not in shown
        yield place.row(fault.what, good, before, f"status {done.returncode}: {done.stderr[-400:]}")
        place.clean()
