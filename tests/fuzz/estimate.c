/* SPDX-License-Identifier: MIT */
/*
 * estimate.c - any bytes as a text: the estimate is within its bounds, and does not depend on how the text is cut.
 *
 * INPUT  how to cut, how to read, then the text: bytes as they are, or each standing for a fragment of some script.
 */
#include "fuzz.h"
#include "tap.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <tlshm/estimate.h>

enum { TEXT_MAX = 1u << 16 };

static const char *const fragments[] = {
    " ",
    "  ",
    "\n",
    "\t",
    "the",
    "The",
    "with",
    "strange",
    "CAPITALS",
    "camelCase",
    "a",
    "Z",
    "7",
    "2026",
    "0x",
    "_",
    "(",
    ");",
    "...",
    "--",
    "=",
    "\"",
    "{",
    "}",
    "é",
    "ß",
    "ő",
    "ế",
    "ж",
    "Д",
    "λ",
    "א",
    "ع",
    "َ",
    "क",
    "ि",
    "த",
    "ไ",
    "က",
    "ა",
    "የ",
    "你",
    "の",
    "カ",
    "한",
    "。",
    "，",
    "Ａ",
    "—",
    "“",
    "→",
    "∀",
    "│",
    "❤",
    "\xef\xb8\x8f",
    "😀",
    "🇩",
    "👩",
    "\xe2\x80\x8d",
    "🏽",
    "𝒜",
    "𠀀",
    "\xef\xbf\xbd",
    "\xff",
    "\xc3",
    "\xe4\xbd",
    "\xf0\x9f",
    "\xed\xa0\x80",
    "\xc0\x80",
    "\0",
};

static size_t spell(struct bytes *in, char *text)
{
    size_t n = 0;
    bool raw = bytes_8(in) & 1;
    while (bytes_left(in) > 0 && n + 32 < TEXT_MAX) {
        unsigned c = bytes_8(in);
        if (raw) {
            text[n++] = (char)c;
            continue;
        }
        const char *fragment = fragments[c % (sizeof fragments / sizeof *fragments)];
        size_t length = strlen(fragment);
        memcpy(text + n, fragment, length ? length : 1);
        n += length ? length : 1;
    }
    return n;
}

static uint64_t in_pieces(const char *text, size_t n, unsigned most)
{
    tlshm_estimate e;
    uint64_t tokens = 0, before = 0;
    tlshm_estimate_begin(&e);
    for (size_t at = 0, piece = 1; at < n; at += piece, piece = piece % most + 1) {
        piece = n - at < piece ? n - at : piece;
        MUST(tlshm_estimate_feed(&e, text + at, piece) == 0, "feed failed");
        MUST(tlshm_estimate_end(&e, &tokens) == 0 && tokens <= e.bytes, "more tokens than bytes");
        MUST(tokens + 4 >= before, "the estimate went from %llu to %llu", (unsigned long long)before,
             (unsigned long long)tokens);
        before = tokens;
    }
    return tokens;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char place[TEXT_MAX];
    struct bytes in = {data, data + size};
    unsigned most = 1 + bytes_below(&in, 40);
    size_t n = spell(&in, place);
    char *text = malloc(n ? n : 1); /* of just its size, so that a step beyond it is seen */
    uint64_t whole = UINT64_MAX;
    MUST(text, "out of memory");
    memcpy(text, place, n);
    MUST(tlshm_estimate_text(text, n, &whole) == 0, "text failed");
    MUST(whole <= n && (n == 0 || whole >= 1), "%llu tokens for %zu bytes", (unsigned long long)whole, n);
    MUST(in_pieces(text, n, most) == whole, "cuts make a difference");
    free(text);
    return 0;
}
