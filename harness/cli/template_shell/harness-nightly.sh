#!/bin/sh
# Written by `harness init --ci shell`; yours to change. For any service that runs a script, and for people.
# Every night: the cases run against the real services, and every answer is compared with its recording. Issues are
# files in issues/ unless GITHUB_TOKEN and GITHUB_REPOSITORY are set.
# Exit status: 0 also if a tool has drifted, which is a finding; 2 and 3 nothing was measured.
set -eu
cd "$(dirname "$0")/.."
@@PROJECT@@
python3 -m venv .harness-venv
export PATH="$PWD/.harness-venv/bin:$PATH"
@@INSTALL@@
@@PACKAGES@@
worst=0

suite() {
  name=$1 run="nightly-$1" status=0
  shift
  # shellcheck disable=SC2068 # the options are words
  harness drift "$name" $@ --run-name "$run" || status=$?
  test "$status" -le 1 || test "$status" -le "$worst" || worst=$status
  test -f "${HARNESS_PROJECT:-.}/runs/$run/drift.json" || return 0
  mkdir -p "report/$name"
  harness report "$run" --html --output "report/$name/report.html"
  harness issue file "$run"
}

@@SUITES@@
exit "$worst"
