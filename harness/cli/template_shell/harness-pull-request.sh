#!/bin/sh
# Written by `harness init --ci shell`; yours to change. For any service that runs a script, and for people.
# For each pull request: tools replayed, a model live under a budget, held against the committed baseline. Each suite's
# report/SUITE has comment.md, junit.xml and report.html; keep runs/ too, which `harness view` shows.
# Exit status: the worst of all suites; 1 a gate failed, 2 and 3 nothing was measured.
set -eu
cd "$(dirname "$0")/.."
@@PROJECT@@
python3 -m venv .harness-venv
export PATH="$PWD/.harness-venv/bin:$PATH"
@@INSTALL@@
@@PACKAGES@@
worst=0

suite() {
  name=$1 run="pull-request-$1" status=0
  shift
  harness cassette check "$name" || status=$?
  # shellcheck disable=SC2068 # the options are words
  test "$status" -ne 0 || harness run "$name" $@ --run-name "$run" --against-baseline || status=$?
  test "$status" -le "$worst" || worst=$status
  test -f "${HARNESS_PROJECT:-.}/runs/$run/manifest.json" || return 0
  mkdir -p "report/$name"
  harness report "$run" --format junit > "report/$name/junit.xml"
  harness report "$run" --html --output "report/$name/report.html"
  harness compare "baseline:$name" "$run" --format comment > "report/$name/comment.md" ||
    harness report "$run" --format markdown >> "report/$name/comment.md"
}

@@SUITES@@
exit "$worst"
