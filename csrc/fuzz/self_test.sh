#!/bin/sh
# self_test.sh PROGRAM DICTIONARY SANITIZERS: the driver finds the fault of self_test.c, ends badly,
# writes the input to a file that it names, and that file alone shows the fault again.
set -u
program=$1 dictionary=$2 sanitizers=$3
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
mkdir corpus && echo 'VmRSS: 12 kB' >corpus/input

fail() {
    echo "self test: $1"
    cat said
    exit 1
}

finds() {
    if "$program" "-dict=$dictionary" corpus >said 2>&1; then fail "the fault was not found"; fi
    grep -q 'the input is in crash-' said || fail "no file was named"
    crash=$(sed -n 's/.*the input is in //p' said)
    grep -q 'VmSwap:' "$crash" || fail "another input was written to $crash"
    if FOX_FUZZ_RUNS=0 "$program" "$crash" >said 2>&1; then fail "$crash does not show it again"; fi
}

FOX_FUZZ_RUNS=0 "$program" corpus >said 2>&1 || fail "the input to begin with has no fault"
finds
case $sanitizers in
*address*) # a read beyond the input, which only the sanitizer sees
    FOX_SELF_TEST_OVERRUN=1
    export FOX_SELF_TEST_OVERRUN
    rm -f crash-*
    finds
    ;;
esac
FOX_FUZZ_RUNS=1 "$program" /nowhere >said 2>&1 && fail "a corpus that is not there was no error"
exit 0
