#!/usr/bin/env bash
# The manual and lib/DESIGN.md say what the code says: every function has a page of its name with its prototype, the errors
# are those of error.h, and the names, files and floors that the design speaks of exist.
# SPDX-License-Identifier: MIT
set -uo pipefail
# shellcheck source=tests/lint/tap.sh
source "$(dirname "$0")/tap.sh"

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mapfile -t pages < <(tree_files 'tools/man/*.3')
design=lib/DESIGN.md

exported()
{
    sed -n 's/^ *\(tlshm_[a-z0-9_]*\);$/\1/p' lib/tlshm.map
}

# named PAGE: the functions in its NAME section.
named()
{
    sed -n '/^\.Sh NAME/,/^\.Nd/s/^\.Nm \(tlshm_[a-z0-9_]*\).*/\1/p' "$1"
}

# linked PAGE-NAME: the functions that are installed as links to a page.
linked()
{
    sed -n "/^  '$1': \[\$/,/^  \],\$/p" tools/meson.build | grep -o "'tlshm_[a-z0-9_]*'" | tr -d "'" | sed 1d
}

one_page_each()
{
    diff <(exported | sort) <(for page in "${pages[@]}"; do named "$page"; done | sort)
}

found_by_name()
{
    local title
    title=$(basename "$1" .3)
    diff <(named "$1" | grep -vx "$title" | sort) <(linked "$title" | sort)
}

installed()
{
    grep -qF "'${1#tools/}'" tools/meson.build
}

# A prototype in the SYNOPSIS that differs from the header's is an error to the compiler.
prototypes()
{
    mandoc -T ascii -O width=300 "$1" | sed 's/.\x08//g' | sed -n '/^SYNOPSIS/,/^DESCRIPTION/p' | sed '1d;$d' >"$place/page.c"
    grep -q 'tlshm_[a-z_]*(' "$place/page.c" && gcc -std=c11 -Wall -Wextra -Werror -Iinclude -fsyntax-only "$place/page.c"
}

no_warnings()
{
    local said
    said=$(MANROFFSEQ='' man --warnings --local-file "$1" 2>&1 >/dev/null)
    [ -z "$said" ] || { echo "$said"; return 1; }
}

listed_errors()
{
    sed -n 's/^ *X(\(E[A-Z]*\), \([0-9]*\), "\(.*\)").*/\1|\2|\3/p' include/tlshm/error.h
}

errors_of_3()
{
    sed -n '/^\.It Dv TLSHM_E/{N;s/^\.It Dv TLSHM_\(E[A-Z]*\) Pq \([0-9]*\)\n\(.*\)$/\1|\2|\3/p}' tools/man/tlshm_errors.3
}

error_table()
{
    [ -n "$(listed_errors)" ] && diff <(listed_errors) <(errors_of_3)
}

error_names_of_7()
{
    diff <(listed_errors | cut -d'|' -f1) <(sed -n 's/^\.It Er \(E[A-Z]*\)$/\1/p' tools/man/tlshm.7)
}

# What stands between backquotes in the design, one a line.
quoted()
{
    grep -o "\`[^\`]*\`" "$design" | tr -d "\`" | sort -u
}

known_functions()
{
    local name missing=0
    quoted | grep '()$' >/dev/null || return
    while IFS= read -r name; do
        grep -qw -- "${name%()}" lib/*.c lib/*.h include/*.h include/tlshm/*.h || { echo "$name"; missing=1; }
    done < <(quoted | sed -n 's/^struct //; /^[a-z_]*()$/p; /^\(tl\|shm\)_[a-z_]*$/p')
    return "$missing"
}

known_files()
{
    local name missing=0
    quoted | grep '\.c$' >/dev/null || return
    while IFS= read -r name; do
        [ -e "$name" ] || [ -e "lib/$name" ] || { echo "$name"; missing=1; }
    done < <(quoted | grep -E '^[A-Za-z0-9_/.-]+(\.(c|h|sh|py|txt|md|pml)|/)$')
    return "$missing"
}

# FLOOR FILE..., highest floor first.
floors()
{
    sed -n 's/^\([0-9][0-9]*\) \([a-z]*\).*/\1 \2/p' tests/lint/floors.txt |
        awk '{ files[$1] = files[$1] " " $2; if ($1 > top) top = $1 }
             END { for (f = top; f >= 0; f--) if (f in files) print f files[f] }'
}

floors_of_design()
{
    sed -n '/floors: begin/,/floors: end/s/^| \([0-9]*\) | \([a-z ]*\) |.*/\1 \2/p' "$design"
}

same_floors()
{
    [ -n "$(floors)" ] && diff <(floors) <(floors_of_design)
}

case_is "every function is on one page" one_page_each
for page in "${pages[@]}"; do
    case_is "$page is installed" installed "$page"
    case_is "the functions of $page are found by name" found_by_name "$page"
    if [ -n "$(named "$page")" ] && command -v mandoc >/dev/null; then
        case_is "the prototypes of $page" prototypes "$page"
    fi
    if command -v man >/dev/null; then
        case_is "man has no complaints about $page" no_warnings "$page"
    fi
done
case_is "errors of tlshm_errors.3" error_table
case_is "errors of tlshm.7" error_names_of_7
case_is "functions that the design names" known_functions
case_is "files that the design names" known_files
case_is "floors that the design shows" same_floors
finish
