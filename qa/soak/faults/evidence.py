"""Snapshots and tapes that are damaged or changed, also while they are in use, and two harnesses at one place."""

from qa.soak.faults.surroundings import Fault

_RUN = "HARNESS run SUITE --sandbox local --run-name it"
_COPIED = "cp -a {0} $TMPDIR/kept && mount -t tmpfs none {0} && cp -a $TMPDIR/kept/. {0} && rm -r $TMPDIR/kept; "
_SNAPSHOT = _COPIED.format("snapshots") + "cd snapshots/kiosk/open && {0} && cd ../../.. && " + _RUN
_TAPE = _COPIED.format("cassettes") + "cd cassettes/SUITE && {0} && cd ../.. && "
_RUNNING = f"{_RUN} --jobs 1 --trials 2 & until [ -e runs/it/manifest.json ]; do sleep 0.05; done; "
_BEGUN = f"{_RUNNING}until ls runs/it/trials/*/1 >&/dev/null; do sleep 0.05; done; "
_DAMAGED = "python3 -c 'import sys; print(sys.stdin.read()[:{0}], end=str())' < {1} > d; cat d > {1}; rm d"

FAULTS = (
    Fault(
        what="snapshot: a bit of a sealed file flipped",
        script=_SNAPSHOT.format("printf Offen > files/work/T*"),
        status=3,
        says="Tür.txt",
        quick=True,
    ),
    Fault(
        what="snapshot: a sealed file missing",
        script=_SNAPSHOT.format("rm files/work/T*"),
        status=3,
        says="Tür.txt is missing",
    ),
    Fault(
        what="snapshot: a file that was not sealed",
        script=_SNAPSHOT.format("echo > files/work/more"),
        status=3,
        says="/work/more",
    ),
    Fault(
        what="snapshot: a sealed file is a link now",
        script=_SNAPSHOT.format("mv files/work/T* $TMPDIR/t && ln -s $TMPDIR/t files/work/Tür.txt")
        + "; s=$?; rm $TMPDIR/t; exit $s",
        status=3,
        says="Tür.txt",
    ),
    Fault(
        what="snapshot: manifest edited",
        script=_SNAPSHOT.format("sed -i s/420/384/ snapshot.json"),
        status=3,
        says="snapshot.json",
    ),
    Fault(
        what="snapshot: manifest cut off",
        script=_SNAPSHOT.format(_DAMAGED.format(100, "snapshot.json")),
        status=3,
        says="snapshot.json",
    ),
    Fault(
        what="snapshot: manifest missing",
        script=_SNAPSHOT.format("rm snapshot.json"),
        status=3,
        says="harness snapshot build kiosk open",
    ),
    Fault(
        what="tape cut off, replayed",
        script=_TAPE.format(_DAMAGED.format(300, "Regal-0.yaml")) + _RUN,
        status=3,
        says="Regal-0.yaml",
    ),
    Fault(
        what="tape of another answer, replayed: a verdict, not an error",
        script=_TAPE.format("sed -i s/tchen/uche/ Regal-0.yaml") + _RUN + " --fail-under task_success=1",
        status=1,
        says="Regal-0/1",
    ),
    Fault(
        what="tape missing: inconclusive, and what to record is said",
        script=_TAPE.format("rm Regal-0.yaml") + _RUN,
        status=1,
        says="harness record 'späti'",
    ),
    Fault(
        what="tape replaced while it is replayed: the run goes on with what it began with",
        script=_COPIED.format("cassettes") + _BEGUN + "cd cassettes/SUITE && "
        "sed s/tchen/uche/ Regal-0.yaml > new && mv new Regal-0.yaml; wait $!",
        quick=True,
    ),
    Fault(
        what="tape cut off while it is recorded: the recording is kept aside, and is on the tape when that is mended",
        script=_COPIED.format("cassettes")
        + _BEGUN.replace("run SUITE", "record SUITE --refresh")
        .replace(" --run-name it", "")
        .replace(" --trials 2", "")
        .replace("/it/", "/*/")
        + "cd cassettes/SUITE && cp Regal-3.yaml $TMPDIR/whole && head -c 9 $TMPDIR/whole > Regal-3.yaml; cd ../..; "
        "wait $!; [ $? = 3 ] || exit 9; mv $TMPDIR/whole cassettes/SUITE/Regal-3.yaml; "
        "HARNESS run --resume $(ls runs | grep -v before) && [ $(ls -A cassettes/SUITE | wc -l) = 4 ]",
        says="Regal-3.yaml",
    ),
    Fault(
        what="two harnesses on one run folder",
        script=_RUNNING + "kill -STOP $!; HARNESS run --resume it; s=$?; kill -CONT $!; wait $! && exit $s",
        status=3,
        says="is being written by another harness",
        quick=True,
    ),
    Fault(
        what="two harnesses with one name for their runs",
        script=_RUNNING + f"{_RUN}; s=$?; wait $! && exit $s",
        status=2,
        says="run 'it' already exists",
    ),
    Fault(
        what="two harnesses record the same tapes",
        script=_COPIED.format("cassettes") + "rm -r cassettes/SUITE; "
        "HARNESS run SUITE --sandbox local --live tools,record --run-name it-1 & a=$!; "
        "HARNESS run SUITE --sandbox local --live tools,record --run-name it-2 & b=$!; "
        "wait $a && wait $b && [ $(ls -A cassettes/SUITE | wc -l) = 4 ] && " + _RUN,
        says="4/4 passed",
    ),
    Fault(
        what="two harnesses write the report of one run",
        script="HARNESS report before & a=$!; HARNESS report before & b=$!; wait $a && wait $b",
    ),
)
