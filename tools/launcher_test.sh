#!/usr/bin/env bash
# Holds ./tilevm to its rules with a stand-in for tools/build, which notes each
# call and installs a program that prints its folder and its arguments.
set -euo pipefail
launcher=$PWD/$1
tree=$TEST_TMPDIR/tree
mkdir -p "$tree"/{tools,isa,vm} "$TEST_TMPDIR/elsewhere"
cp "$launcher" "$tree/tilevm"
touch "$tree/isa/a.cc" "$tree/isa/b.cc"
cat >"$tree/tools/build" <<'BUILD'
#!/bin/sh
cd "$(dirname "$0")/.." || exit 1
[ ! -e broken ] || exit 69
mkdir -p .build
touch .build/stamp
echo built >>built
printf '#!/bin/sh\necho "$PWD:$*"\nexit 7\n' >.build/tilevm
chmod +x .build/tilevm
BUILD
chmod +x "$tree/tools/build"

fail() { echo "launcher_test: $*" >&2; exit 1; }

run() { # WANTED-BUILDS WANTED-OUTPUT COMMAND…: runs it in elsewhere/, where exit code 7 is expected
  local builds=$1 wanted=$2 got code=0
  shift 2
  got=$(cd "$TEST_TMPDIR/elsewhere" && "$@") || code=$?
  [[ $code -eq 7 ]] || fail "exit code $code of: $*"
  [[ $got == "$TEST_TMPDIR/elsewhere:$wanted" ]] || fail "printed '$got' for: $*"
  [[ $(wc -l <"$tree/built") -eq $builds ]] || fail "$(wc -l <"$tree/built") builds, wanted $builds, after: $*"
}

# The clock of a file system ticks every few milliseconds: do it until it shows.
until_newer() { # FILE COMMAND…
  local file=$1
  shift
  while [[ -z $(find "$file" -maxdepth 0 -cnewer "$tree/.build/stamp") ]]; do "$@"; done
}

run 1 "a b c" "$tree/tilevm" a "b c"
run 1 "" "$tree/tilevm"
run 1 "x" ../tree/tilevm x
ln -s "$tree/tilevm" "$TEST_TMPDIR/link"
run 1 "x" "$TEST_TMPDIR/link" x
run 1 "x" env PATH="$tree:$PATH" tilevm x

until_newer "$tree/isa/a.cc" touch "$tree/isa/a.cc"
run 2 "x" "$tree/tilevm" x
run 2 "x" "$tree/tilevm" x

# An older file put in place of a newer one is a change too.
until_newer "$tree/isa/a.cc" touch -d "2001-01-01" "$tree/isa/a.cc"
run 3 "x" "$tree/tilevm" x

remove_one() { touch "$tree/isa/b.cc" && rm "$tree/isa/b.cc"; }
until_newer "$tree/isa" remove_one
run 4 "x" "$tree/tilevm" x

touch "$tree/broken"
until_newer "$tree/isa/a.cc" touch "$tree/isa/a.cc"
code=0
"$tree/tilevm" x || code=$?
[[ $code -eq 69 ]] || fail "exit code $code where the build fails"
rm "$tree/broken"
run 5 "x" "$tree/tilevm" x
