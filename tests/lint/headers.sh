#!/usr/bin/env bash
# Each public header stands alone, in old C and old C++ and with both compilers.
# SPDX-License-Identifier: MIT
set -uo pipefail
# shellcheck source=tests/lint/tap.sh
source "$(dirname "$0")/tap.sh"

compile()
{
    printf '#include <%s>\n#include <%s>\n' "$1" "$1" |
        "$2" -Iinclude "${@:3}" -Wall -Wextra -Wshadow -Werror -fsyntax-only -
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
finish
