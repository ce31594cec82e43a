/* SPDX-License-Identifier: MIT */
/*
 * estimate.c - a bound on the tokens of a text, character by character.
 *
 * Tokenizers of this kind cut a text into words (with the blank in front), groups of three digits, runs of punctuation
 * and of blanks, and then spend on each piece as many tokens as their vocabulary makes necessary. So:
 *
 *   words        one token, and more for each letter beyond the first few. English words are nearly always one token,
 *                words of the other languages in Latin letters are not. Which of the two a word is, is guessed from its
 *                neighbours: after an English word that other languages hardly have ("the", "with", "that"), and inside
 *                code, words are taken as familiar; a letter with an accent ends that. aB and ABc are two words.
 *   scripts      so much for a character, from a table of ranges
 *   digits       a token for three, and one for the blank in front
 *   punctuation  a token each; repetitions are cheap
 *   blanks       one in front of a word is free; longer ones and line ends are a token, and a little more if very long
 *
 * INVARIANTS
 *   I1  Costs are added as characters come and depend on what came before alone: cuts make no difference.
 *   I2  No character costs more tokens than it has bytes.
 *
 * Costs are in 64ths of a token. They were fitted to the table of tests/estimate, which says how far off they are.
 */
#include <tlshm/estimate.h>

#include "base.h"

#define TOKEN 64u
#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* What the last character was. */
enum kind { KIND_START, KIND_LETTER, KIND_SCRIPT, KIND_DIGIT, KIND_MARK, KIND_SPACE, KIND_TAB, KIND_LINE };

enum {
    FREE_STRANGE = 3, /* letters of a strange word that its first token pays for */
    FREE_FAMILIAR = 4,
    FREE_CAPITALS = 2,
    LETTER_STRANGE = 37,
    LETTER_FAMILIAR = 10,
    LETTER_CAPITAL = 26,
    LETTER_JUMBLED = 52,
    JUMBLED = 2, /* such places in a row that make a jumble */
    SHORT_WORD = 2,
    FAMILIAR_WORDS = 10, /* words that an English one makes familiar */
    FAMILIAR_MAX = 20,
    FAMILIAR_CODE = 3,  /* the same for a mark of code */
    LONG_WORD = 10,     /* letters; behind these nothing is familiar */
    REPEATED_MARK = 16, /* what the second and further ones of a row cost */
    REPEATED_TAB = 16,
    REPEATED_LINE = 20,
    REPEATED_SPACE = 2,
    OWN_SPACE = 2 * TOKEN, /* characters from this cost on don't share a token with the blank in front */
    OTHER_MARK = 45,       /* punctuation behind other punctuation */
    ACCENT = 54            /* a Latin letter outside of ASCII, beyond what letters cost */
};

/* ----------------------------------------------------------------------------------------------------------- scripts */

/* Code points from `from` up to the next row. */
struct range {
    uint32_t from;
    uint16_t cost;  /* of one, at most its bytes */
    uint8_t letter; /* 1: part of a word in Latin letters, the cost comes on top of the letter's */
};

/* What is not listed costs its bytes. */
static const struct range ranges[] = {
    {0x80, 2 * TOKEN, 0},     /* control characters */
    {0xa0, 70, 0},            /* Latin-1 signs */
    {0xc0, ACCENT, 1},        /* Latin-1 letters */
    {0x100, ACCENT + 12, 1},  /* Latin extended */
    {0x250, 2 * TOKEN, 0},    /* phonetic and modifier letters */
    {0x300, 2 * TOKEN, 0},    /* combining marks */
    {0x370, 68, 0},           /* Greek */
    {0x400, 50, 0},           /* Cyrillic */
    {0x460, 2 * TOKEN, 0},    /* Cyrillic of other languages, Armenian */
    {0x590, 2 * TOKEN, 0},    /* Hebrew points */
    {0x5d0, 84, 0},           /* Hebrew letters */
    {0x5f0, 2 * TOKEN, 0},    /* */
    {0x600, 64, 0},           /* Arabic */
    {0x64b, 96, 0},           /* Arabic vowels */
    {0x660, 104, 0},          /* Arabic of other languages */
    {0x700, 2 * TOKEN, 0},    /* */
    {0x800, 3 * TOKEN, 0},    /* */
    {0x900, 84, 0},           /* Devanagari */
    {0x980, 104, 0},          /* Bengali */
    {0xa00, 2 * TOKEN, 0},    /* Gurmukhi, Gujarati */
    {0xb00, 3 * TOKEN, 0},    /* Oriya */
    {0xb80, 112, 0},          /* Tamil */
    {0xc00, 136, 0},          /* Telugu, Kannada, Malayalam, Sinhala */
    {0xe00, 72, 0},           /* Thai */
    {0xe80, 3 * TOKEN, 0},    /* Lao, Tibetan */
    {0x1000, 140, 0},         /* Burmese */
    {0x10a0, 136, 0},         /* Georgian */
    {0x1100, 3 * TOKEN, 0},   /* Hangul letters, Ethiopic, Cherokee ... */
    {0x1780, 132, 0},         /* Khmer */
    {0x1800, 3 * TOKEN, 0},   /* */
    {0x1e00, 80, 1},          /* Latin of Vietnamese */
    {0x1f00, 3 * TOKEN, 0},   /* Greek of antiquity */
    {0x2000, 2 * TOKEN, 0},   /* widths and joiners */
    {0x2010, 66, 0},          /* quotation marks, dashes */
    {0x2030, 2 * TOKEN, 0},   /* */
    {0x2190, 104, 0},         /* arrows */
    {0x2200, 104, 0},         /* mathematics */
    {0x2300, 3 * TOKEN, 0},   /* */
    {0x2500, 60, 0},          /* boxes */
    {0x25a0, 2 * TOKEN, 0},   /* shapes */
    {0x2600, 150, 0},         /* signs */
    {0x27c0, 3 * TOKEN, 0},   /* */
    {0x3000, 66, 0},          /* East Asian punctuation */
    {0x3040, 72, 0},          /* Hiragana, Katakana */
    {0x3100, 3 * TOKEN, 0},   /* */
    {0x4e00, 120, 0},         /* Han */
    {0xa000, 3 * TOKEN, 0},   /* */
    {0xac00, 92, 0},          /* Hangul */
    {0xd7a4, 3 * TOKEN, 0},   /* */
    {0xfe00, 2 * TOKEN, 0},   /* variants */
    {0xfe10, 3 * TOKEN, 0},   /* */
    {0xff00, 112, 0},         /* wide and narrow forms */
    {0xfff0, TOKEN, 0},       /* replacement character */
    {0x10000, 4 * TOKEN, 0},  /* */
    {0x1d400, 3 * TOKEN, 0},  /* mathematical letters */
    {0x1d800, 4 * TOKEN, 0},  /* */
    {0x1f1e6, 3 * TOKEN, 0},  /* flags */
    {0x1f200, 4 * TOKEN, 0},  /* */
    {0x1f300, 3 * TOKEN, 0},  /* pictures */
    {0x1fb00, 4 * TOKEN, 0},  /* */
    {0x110000, 4 * TOKEN, 0}, /* the end */
};

/* Texts stay within a script: the last row is tried first. */
static const struct range *range_of(tlshm_estimate *e, uint32_t c)
{
    if (c >= ranges[e->range].from && c < ranges[e->range + 1].from)
        return &ranges[e->range];
    uint32_t low = 0, high = COUNT_OF(ranges) - 1;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (c >= ranges[middle].from)
            low = middle;
        else
            high = middle;
    }
    e->range = low;
    return &ranges[low];
}

/* ------------------------------------------------------------------------------------------------------------ words */

#define WORD1(a) ((uint64_t)(a))
#define WORD2(a, b) (WORD1(a) << 8 | (uint64_t)(b))
#define WORD3(a, b, c) (WORD2(a, b) << 8 | (uint64_t)(c))
#define WORD4(a, b, c, d) (WORD3(a, b, c) << 8 | (uint64_t)(d))

/* Frequent English words that are none in other languages with Latin letters, or rare there. */
static bool is_english(uint64_t word)
{
    switch (word) {
    case WORD2('i', 'f'):
    case WORD2('i', 't'):
    case WORD3('t', 'h', 'e'):
    case WORD3('a', 'n', 'd'):
    case WORD3('y', 'o', 'u'):
    case WORD3('a', 'r', 'e'):
    case WORD3('n', 'o', 't'):
    case WORD3('c', 'a', 'n'):
    case WORD3('b', 'u', 't'):
    case WORD3('i', 't', 's'):
    case WORD3('u', 's', 'e'):
    case WORD4('t', 'h', 'a', 't'):
    case WORD4('w', 'i', 't', 'h'):
    case WORD4('t', 'h', 'i', 's'):
    case WORD4('f', 'r', 'o', 'm'):
    case WORD4('t', 'h', 'e', 'y'):
    case WORD4('w', 'h', 'a', 't'):
    case WORD4('w', 'h', 'e', 'n'):
    case WORD4('y', 'o', 'u', 'r'):
    case WORD4('t', 'h', 'a', 'n'):
    case WORD4('h', 'a', 'v', 'e'):
    case WORD4('e', 'a', 'c', 'h'):
        return true;
    default:
        return false;
    }
}

/* At the end of a word: how familiar the next ones are. */
static void end_word(tlshm_estimate *e)
{
    if (is_english(e->word))
        e->familiar =
            (uint8_t)(e->familiar + FAMILIAR_WORDS > FAMILIAR_MAX ? FAMILIAR_MAX : e->familiar + FAMILIAR_WORDS);
    else if (e->familiar > 0)
        e->familiar--;
}

static void see_code(tlshm_estimate *e)
{
    if (e->familiar < FAMILIAR_CODE)
        e->familiar = FAMILIAR_CODE;
}

/* aB: names in programs are made so, of English words. */
static void end_part(tlshm_estimate *e)
{
    end_word(e);
    if (e->run > SHORT_WORD && !e->dear)
        see_code(e);
}

static bool is_lower(uint8_t c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_upper(uint8_t c)
{
    return c >= 'A' && c <= 'Z';
}

/* Small letters behind a capital go on with its word, a capital behind small letters begins one, and so do small
   letters behind several capitals. */
static bool begins_word(const tlshm_estimate *e, uint8_t c)
{
    if (e->kind != KIND_LETTER)
        return true;
    if (is_upper(c))
        return is_lower(e->last);
    return is_lower(c) && is_upper(e->last) && e->run > 1;
}

static uint32_t letter_cost(const tlshm_estimate *e, uint8_t c)
{
    if (e->run == 0)
        return TOKEN;
    if (e->jumbled == JUMBLED)
        return LETTER_JUMBLED;
    if (is_upper(c))
        return e->run < FREE_CAPITALS ? 0 : LETTER_CAPITAL;
    if (e->familiar > 0 && !e->dear && e->run < LONG_WORD)
        return e->run < FREE_FAMILIAR ? 0 : LETTER_FAMILIAR;
    return e->run < FREE_STRANGE ? 0 : LETTER_STRANGE;
}

static void take_letter(tlshm_estimate *e, uint8_t c)
{
    if (begins_word(e, c)) {
        if (e->kind == KIND_DIGIT || (e->kind == KIND_LETTER && e->run <= SHORT_WORD))
            e->jumbled = e->jumbled < JUMBLED ? e->jumbled + 1 : JUMBLED;
        else
            e->jumbled = 0;
        if (e->kind == KIND_LETTER)
            end_part(e);
        e->run = 0;
        e->word = 0;
        e->dear = 0;
    }
    e->sum += letter_cost(e, c);
    e->run++;
    e->word = e->word << 8 | (is_upper(c) ? c + 32u : c);
    e->kind = KIND_LETTER;
}

/* The small letters that go on with a word, most characters of most texts. Returns how many. */
static size_t take_rest(tlshm_estimate *e, const uint8_t *at, size_t n)
{
    size_t i = 0;
    if (e->kind != KIND_LETTER || !is_lower(e->last) || e->missing)
        return 0;
    for (; i < n && is_lower(at[i]); i++) {
        e->sum += letter_cost(e, at[i]);
        e->run++;
        e->word = e->word << 8 | at[i];
    }
    if (i > 0)
        e->last = at[i - 1];
    return i;
}

/* ------------------------------------------------------------------------------------------------- other characters */

static bool is_code(uint8_t c)
{
    return c == '_' || c == '{' || c == '}' || c == ';' || c == '=' || c == '(';
}

static void take_digit(tlshm_estimate *e)
{
    if (e->kind != KIND_DIGIT) {
        e->sum += e->kind == KIND_SPACE && e->run == 1 ? TOKEN : 0;
        e->run = 0;
    }
    if (e->run % 3 == 0)
        e->sum += TOKEN;
    e->run++;
    e->kind = KIND_DIGIT;
}

static void take_mark(tlshm_estimate *e, uint8_t c)
{
    if (e->kind != KIND_MARK)
        e->sum += TOKEN;
    else
        e->sum += c == e->last ? REPEATED_MARK : OTHER_MARK;
    if (is_code(c))
        see_code(e);
    e->kind = KIND_MARK;
}

static void take_space(tlshm_estimate *e)
{
    if (e->kind != KIND_SPACE)
        e->run = 0;
    else if (e->run == 1)
        e->sum += TOKEN;
    else
        e->sum += REPEATED_SPACE;
    e->run++;
    e->kind = KIND_SPACE;
}

static void take_blank(tlshm_estimate *e, enum kind kind, uint32_t repeated)
{
    e->sum += e->kind == kind ? repeated : TOKEN;
    e->kind = (uint8_t)kind;
}

static void take_ascii(tlshm_estimate *e, uint8_t c)
{
    if (is_lower(c) || is_upper(c)) {
        take_letter(e, c);
    } else {
        if (e->kind == KIND_LETTER)
            end_word(e);
        if (c == ' ')
            take_space(e);
        else if (c >= '0' && c <= '9')
            take_digit(e);
        else if (c == '\n' || c == '\r')
            take_blank(e, KIND_LINE, REPEATED_LINE);
        else if (c == '\t')
            take_blank(e, KIND_TAB, REPEATED_TAB);
        else if (c > ' ' && c < 0x7f)
            take_mark(e, c);
        else
            take_blank(e, KIND_START, TOKEN); /* control characters */
    }
    e->last = c;
}

static void take_wide(tlshm_estimate *e, uint32_t c)
{
    const struct range *range = range_of(e, c);
    e->sum += range->cost;
    if (e->kind == KIND_SPACE && e->run == 1 && range->cost >= OWN_SPACE)
        e->sum += TOKEN;
    if (!range->letter) {
        if (e->kind == KIND_LETTER)
            end_word(e);
        e->kind = KIND_SCRIPT;
        e->last = 0;
        return;
    }
    take_letter(e, 'a'); /* capitals with accents are as dear as small letters */
    e->last = 'a';
    e->dear = 1;
    e->familiar = 0;
}

/* ----------------------------------------------------------------------------------------------------------- UTF-8 */

/* What the bytes of a character that was cut off or is none cost. */
static void take_broken(tlshm_estimate *e)
{
    e->sum += (uint64_t)e->taken * TOKEN;
    e->missing = e->taken = 0;
    e->kind = KIND_START;
    e->last = 0;
}

static void begin_wide(tlshm_estimate *e, uint8_t c)
{
    e->taken = 1;
    if (c >= 0xc2 && c < 0xe0) {
        e->missing = 1;
        e->code_point = c & 0x1fu;
    } else if (c >= 0xe0 && c < 0xf0) {
        e->missing = 2;
        e->code_point = c & 0x0fu;
    } else if (c >= 0xf0 && c < 0xf5) {
        e->missing = 3;
        e->code_point = c & 0x07u;
    } else {
        take_broken(e);
    }
}

/* Over-long forms, halves of pairs and what lies beyond Unicode. */
static bool is_none(const tlshm_estimate *e)
{
    uint32_t c = e->code_point;
    if (e->taken == 3)
        return c < 0x800 || (c >= 0xd800 && c < 0xe000);
    return e->taken == 4 && (c < 0x10000 || c >= 0x110000);
}

static void continue_wide(tlshm_estimate *e, uint8_t c)
{
    e->code_point = e->code_point << 6 | (c & 0x3fu);
    e->taken++;
    if (--e->missing > 0)
        return;
    if (is_none(e)) {
        take_broken(e);
        return;
    }
    e->taken = 0;
    take_wide(e, e->code_point);
}

static void take_byte(tlshm_estimate *e, uint8_t c)
{
    if (e->missing > 0 && (c & 0xc0) == 0x80) {
        continue_wide(e, c);
        return;
    }
    if (e->missing > 0)
        take_broken(e);
    if (c < 0x80)
        take_ascii(e, c);
    else
        begin_wide(e, c);
}

/* ------------------------------------------------------------------------------------------------------------ calls */

int tlshm_estimate_begin(tlshm_estimate *e)
{
    if (!e)
        return -TLSHM_EINVAL;
    memset(e, 0, sizeof *e);
    return 0;
}

int tlshm_estimate_feed(tlshm_estimate *e, const void *text, size_t n)
{
    const uint8_t *at = text;
    if (!e || (!text && n))
        return -TLSHM_EINVAL;
    tlshm_estimate own = *e; /* which no text can overlap: the compiler keeps it in registers */
    for (size_t i = 0; i < n;) {
        i += take_rest(&own, at + i, n - i);
        if (i < n)
            take_byte(&own, at[i++]);
    }
    own.bytes += n;
    *e = own;
    return 0;
}

/* Characters that are not complete count as bytes, a blank at the end as a token. */
int tlshm_estimate_end(const tlshm_estimate *e, uint64_t *tokens)
{
    if (!e || !tokens)
        return -TLSHM_EINVAL;
    uint64_t sum = e->sum + (uint64_t)e->taken * TOKEN;
    if (e->kind == KIND_SPACE && e->run == 1)
        sum += TOKEN;
    *tokens = tl_min((sum + TOKEN - 1) / TOKEN, e->bytes);
    return 0;
}

int tlshm_estimate_text(const void *text, size_t n, uint64_t *tokens)
{
    tlshm_estimate e;
    tlshm_estimate_begin(&e);
    int rc = tlshm_estimate_feed(&e, text, n);
    return rc ? rc : tlshm_estimate_end(&e, tokens);
}
