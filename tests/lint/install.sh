#!/usr/bin/env bash
# An installed library, a static one and a subproject can each be used by a program of somebody else.
# Usage: install.sh (TLSHM_BUILD names the build to install)
# SPDX-License-Identifier: MIT
set -uo pipefail
# shellcheck source=tests/lint/tap.sh
source "$(dirname "$0")/tap.sh"

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
export DESTDIR=$place/root
read -ra compiler <<<"$TLSHM_CC"

cat >"$place/user.c" <<'C'
#include <stdio.h>
#include <string.h>
#include <tlshm.h>
#include <tlshm/admin.h>
#include <tlshm/stats.h>
int main(void)
{
    char path[256];
    if (strcmp(tlshm_version(), TLSHM_VERSION) || tlshm_path("user", path, sizeof path))
        return 1;
    return puts(path) < 0;
}
C

install_build()
{
    meson install -C "$TLSHM_BUILD" --no-rebuild --quiet
}

# flags OPTION...: what pkg-config says of the installed library.
flags()
{
    local pc
    pc=$(find "$DESTDIR" -name tlshm.pc)
    PKG_CONFIG_SYSROOT_DIR=$DESTDIR PKG_CONFIG_LIBDIR=$(dirname "$pc"):$(pkg-config --variable pc_path pkg-config) \
        pkg-config "$@" tlshm
}

# The sysroot is put before every path, hence only the part of it that holds the library is taken.
folder()
{
    local library
    library=$(find "$DESTDIR" -name 'libtlshm.so')
    dirname "$library"
}

use_shared()
{
    local -a options
    read -ra options <<<"$(flags --cflags --libs)"
    "${compiler[@]}" -Wall -Wextra -Werror "$place/user.c" "${options[@]}" -o "$place/shared" &&
        LD_LIBRARY_PATH=$(folder) "$place/shared"
}

use_static()
{
    local -a options
    read -ra options <<<"$(flags --cflags) $(pkg-config --libs --static liburcu-bp liburcu-cds jansson libpcre2-8 zlib)"
    "${compiler[@]}" "$place/user.c" "${options[0]}" "$(folder)/libtlshm.a" "${options[@]}" -pthread -o "$place/static" &&
        "$place/static"
}

version_agrees()
{
    local header
    header=$(sed -n 's/^#define TLSHM_VERSION "\(.*\)"$/\1/p' include/tlshm.h)
    [ -n "$header" ] && [ "$header" = "$(flags --modversion)" ] && grep -q "^## \[*$header" CHANGELOG.md
}

# A private copy of what git would ship stands for the subproject.
use_subproject()
{
    local user=$place/user
    mkdir -p "$user/subprojects/tlshm" && tree_files '*' | xargs -d '\n' cp --parents -t "$user/subprojects/tlshm" &&
        cp "$place/user.c" "$user/" || return
    cat >"$user/meson.build" <<'MESON'
project('user', 'c')
executable('user', 'user.c', dependencies: dependency('tlshm', fallback: 'tlshm'))
MESON
    meson setup --wrap-mode=forcefallback "$user/build" "$user" && ninja -C "$user/build" && "$user/build/user"
}

case_is "it installs" install_build
case_is "the version is the same everywhere" version_agrees
case_is "a program with the shared library, by pkg-config" use_shared
case_is "a program with the static library" use_static
case_is "a program with tlshm as a subproject" use_subproject
finish
