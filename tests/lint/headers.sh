#!/usr/bin/env bash
# Each public header stands alone, and all stand together, in old C and old C++ and with both compilers.
# SPDX-License-Identifier: MIT
set -uo pipefail
# shellcheck source=tests/lint/tap.sh
source "$(dirname "$0")/tap.sh"

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

compile()
{
    printf '#include <%s>\n#include <%s>\n' "$1" "$1" |
        "$2" -Iinclude "${@:3}" -Wall -Wextra -Wshadow -Werror -fsyntax-only -
}

# Two headers may have made the same name.
together()
{
    tree_files 'include/*.h' | sed 's,^include/\(.*\)$,#include <\1>,' >"$place/all.c"
    [ "$(wc -l <"$place/all.c")" -gt 1 ] && "$1" -Iinclude "${@:2}" -Wall -Wextra -Werror -fsyntax-only "$place/all.c"
}

while IFS= read -r file; do
    header=${file#include/}
    case_is "$header as C99, gcc" compile "$header" gcc -x c -std=c99 -pedantic
    case_is "$header as C99, clang" compile "$header" clang -x c -std=c99 -pedantic
    # long long came with C++11, but uint64_t constants need it on every target.
    case_is "$header as C++98, g++" compile "$header" g++ -x c++ -std=c++98 -pedantic -Wno-long-long
    case_is "$header as C++98, clang++" compile "$header" clang++ -x c++ -std=c++98 -pedantic -Wno-c++11-long-long
    case_is "$header as C++20, g++" compile "$header" g++ -x c++ -std=c++20 -pedantic
done < <(tree_files 'include/*.h')
case_is "all headers together as C99, gcc" together gcc -std=c99 -pedantic
case_is "all headers together as C++98, g++" together g++ -x c++ -std=c++98 -pedantic -Wno-long-long
finish
