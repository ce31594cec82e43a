#!/usr/bin/env bash
# What README.md shows works as it stands: its first program compiles, its commands run, and both print what it says.
# SPDX-License-Identifier: MIT
set -uo pipefail
# shellcheck source=tests/lint/tap.sh
source "${TLSHM_SOURCE:?}/tests/lint/tap.sh"

readme=$TLSHM_SOURCE/README.md
build=${TLSHM_BUILD:?}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

# fenced LANGUAGE NUMBER: that block of the language, without its fence.
fenced()
{
    awk -v open="\`\`\`$1" -v want="$2" '
        inside && $0 == "```" { inside = 0; next }
        inside { if (mine) print; next }
        /^```/ { inside = 1; mine = $0 == open && ++seen == want }' "$readme"
}

# A library that was built with sanitizers needs programs that were. (grep -q would leave before nm has written all, and
# pipefail would take that for a failure.)
sanitizers()
{
    nm --dynamic "$build/lib/libtlshm.so" | grep __asan_ >/dev/null && printf -- '-fsanitize=address,undefined'
}

# The commands run in a place of their own, as if everything were installed: the tools and a compiler named cc are in the
# path, pkg-config knows the library. Only the segment's name is another, and its clock stands still: waiting times are
# part of what is printed.
prepare()
{
    mkdir "$place/bin"
    cat >"$place/bin/cc" <<SH
#!/bin/sh
PATH="$PATH" exec ${TLSHM_CC:?} $(sanitizers) -Wall -Wextra -Werror "\$@"
SH
    cat >"$place/bin/tlshm" <<SH
#!/bin/sh
[ "\$1" != create ] || exec "$build/tools/tlshm" "\$@" --virtual-clock
exec "$build/tools/tlshm" "\$@"
SH
    chmod +x "$place/bin/cc" "$place/bin/tlshm"
    cat >"$place/tlshm.pc" <<PC
Name: tlshm
Description: the library in its build directory
Version: 0
Cflags: -I$TLSHM_SOURCE/include
Libs: -L$build/lib -ltlshm
PC
    fenced c 1 >"$place/first.c"
    fenced sh 1 >"$place/five.sh"
    fenced '' 1 >"$place/refused"
    fenced sh 2 | grep -v '^export TLSHM_SEGMENT=' | grep -v '^tlshm create$' >"$place/first.sh"
    fenced sh 3 >"$place/second.sh"
    fenced '' 2 >"$place/expected"
    export PATH=$place/bin:$PATH PKG_CONFIG_PATH=$place LD_LIBRARY_PATH=$build/lib TLSHM_SEGMENT=$place/segment
    cd "$place" || exit 1
}

# From a configuration to a refusal in dollars. The first command names the segment.
five_commands()
{
    [ "$(grep -c . five.sh)" -eq 5 ] && grep -q '^export TLSHM_SEGMENT=' five.sh || return 1
    sed -i "s|^export TLSHM_SEGMENT=.*|export TLSHM_SEGMENT=$place/five|" five.sh
    bash -u five.sh >five.out 2>five.err
    [ $? -eq 1 ] && tail -n 1 five.err | diff refused -
}

# Exit status 1 is the refusal that the text shows.
first_program()
{
    bash -u first.sh >printed
    [ $? -eq 1 ] && diff expected printed
}

second_commands()
{
    local last
    last=$(bash -eu second.sh | tail -n 1)
    echo "printed: $last"
    [ -n "$last" ] && grep -qF "The last line prints \`$last\`." "$readme"
}

# "28 MiB by default"
default_size()
{
    local size
    size=$((($(stat -c %s segment) + 1048575) / 1048576))
    echo "it has $size MiB"
    grep -qF "$size MiB by default" "$readme"
}

names_exist()
{
    local name missing=0
    while IFS= read -r name; do
        [ -e "$TLSHM_SOURCE/$name" ] || { echo "$name is not there"; missing=1; }
    done < <(grep -oE '(tools|bench|lib)/[A-Za-z0-9./-]+[A-Za-z0-9]|LICENSE' "$readme" | sort -u)
    return "$missing"
}

prepare
case_is "there is a program and what it prints" test -s first.c -a -s first.sh -a -s second.sh -a -s expected
case_is "five commands lead to a refusal in dollars" five_commands
case_is "the segment is made" tlshm create
case_is "the first program prints what it should" first_program
case_is "the same from the shell" second_commands
case_is "a segment is as large as it says" default_size
case_is "the files that it names are there" names_exist
finish
