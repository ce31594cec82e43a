/* SPDX-License-Identifier: MIT */
/* conffile.c - configuration files as texts: what is read, what is wrong and where, and that what is written reads back. */
#include <criterion/criterion.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tlshm/config.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))
#define S UINT64_C(1000000000)

TestSuite(conffile, .timeout = 120);

/* ------------------------------------------------------------------------------------------------------------ faults */

/* All faults of a text, one a line: "3:5 text". */
struct told {
    char text[1 << 16];
    size_t size;
    unsigned count;
};

static void tell(void *context, unsigned line, unsigned column, const char *text)
{
    struct told *told = context;
    int n = snprintf(told->text + told->size, sizeof told->text - told->size, "%u:%u %s\n", line, column, text);
    told->size += n > 0 && (size_t)n < sizeof told->text - told->size ? (size_t)n : 0;
    told->count++;
}

/* NULL when it has faults. */
static tlshm_config *read_bytes(const char *text, size_t size, struct told *told)
{
    static tlshm_config *const untouched = (tlshm_config *)&tell;
    tlshm_config *c = untouched;
    struct tlshm_error err = {0};
    told->size = told->count = told->text[0] = 0;
    int rc = tlshm_config_parse(&c, text, size, tell, told, &err);
    cr_assert(rc == 0 || rc == -TLSHM_EINVAL, "%s", tlshm_error_name(rc));
    cr_assert_eq(rc == 0, told->count == 0);
    cr_assert_eq(rc == 0, c != untouched, "written on success only");
    cr_assert_eq(rc, err.code);
    cr_assert_eq(rc == 0, err.text[0] == 0);
    return rc == 0 ? c : NULL;
}

static tlshm_config *read_text(const char *text, struct told *told)
{
    return read_bytes(text, strlen(text), told);
}

static tlshm_config *sound(const char *text)
{
    static struct told told;
    tlshm_config *c = read_text(text, &told);
    cr_assert_not_null(c, "%s%s", told.text, text);
    return c;
}

static const struct {
    const char *text;   /* the file */
    const char *faults; /* what is told of it */
} wrong[] = {
    /* the form */
    {"", "1:1 the file is empty\n"},
    {"# nothing\n", "1:1 the file is empty\n"},
    {"---\n", "2:1 expected a map of keys, not nothing\n"},
    {"tiers\n", "1:1 expected a map of keys, not a text\n"},
    {"- tiers\n", "1:1 expected a map of keys, not a list\n"},
    {"tiers:\n\tfree: []\n", "2:1 expected blanks, not a tab: YAML is indented with blanks\n"},
    {"tiers: {free: []\nlevels: {}\n",
     "2:1 expected YAML: did not find expected ',' or '}' while parsing a flow mapping\n"},
    {"tiers:\n  free: []\n pro: []\n", "3:2 expected YAML: did not find expected key while parsing a block mapping\n"},
    {"overrun: \"cap\n", "2:1 expected YAML: found unexpected end of stream while scanning a quoted scalar\n"},
    {"overrun: cap\n---\noverrun: cap\n", "2:1 a second document: one file is one configuration\n"},
    {"%YAML 1.1\n---\noverrun: cap\n", "1:1 directives (%YAML, %TAG) are not supported\n"},
    {"overrun: c\xff"
     "ap\n",
     "1:11 expected YAML: invalid leading UTF-8 octet\n"},
    {"overrun: c\x01"
     "ap\n",
     "1:11 expected YAML: control characters are not allowed\n"},
    {"overrun: \"a\\0b\"\n", "1:10 a text must not contain the NUL character\n"},
    {"tiers: {free: &a []}\nlevels: {user: *a}\n", "1:15 anchors (&name) are not supported: write it where it is used\n"
                                                   "2:16 aliases (*name) are not supported: write out what is meant\n"},
    {"overrun: !!str cap\n", "1:10 tags (!name) are not supported\n"},
    {"? [a]\n: b\n", "1:3 a key must be a text\n"},
    {"*a : b\n", "1:1 aliases (*name) are not supported: write out what is meant\n"},
    {"overrun: cap\noverrun: cap\n", "2:1 'overrun' is given twice: first in line 1\n"},
    {"tiers: {a: [], b: [], \"a\": []}\n", "1:23 'a' is given twice: first in line 1\n"},
    {"tiers: {a: [[[[[[[[[[[]]]]]]]]]]]}\n", "1:22 nested too deeply: nothing in a file of this kind is\n"},
    /* keys */
    {"tires: {}\n", "1:1 unknown key 'tires': did you mean 'tiers'?\n"},
    {"shutof_at: []\n", "1:1 unknown key 'shutof_at': did you mean 'shutoff_at'?\n"},
    {"something: {}\n", "1:1 unknown key 'something'\n"},
    {"\"\": {}\n", "1:2 unknown key ''\n"},
    /* geometry */
    {"geometry: 5\n", "1:11 expected a map of keys, not a text\n"},
    {"geometry:\n  scopes: 0\n", "2:11 expected a number from 1 to 4000000, not 0\n"},
    {"geometry:\n  scopes: 4000001\n", "2:11 expected a number from 1 to 4000000, not 4000001\n"},
    {"geometry:\n  reservations: 63\n", "2:17 expected a number from 64 to 4000000, not 63\n"},
    {"geometry:\n  limits_per_scope: 9\n", "2:21 expected a number from 1 to 8, not 9\n"},
    {"geometry:\n  slices: 65\n", "2:11 expected a number from 1 to 64, not 65\n"},
    {"geometry:\n  seats: 1.5\n", "2:10 '1.5' is no whole number\n"},
    {"geometry:\n  seats: -1\n", "2:10 expected an amount such as 500, 10k, 1.5M or unlimited, not '-1'\n"},
    {"geometry:\n  seats: unlimited\n", "2:10 expected a number from 1 to 4000, not unlimited\n"},
    {"geometry:\n  seats:\n", "2:9 expected a number, not nothing\n"},
    {"geometry:\n  seats: [1]\n", "2:10 expected a number, not a list\n"},
    {"geometry:\n  retention: 0\n", "2:14 expected a time above 0 and below 36 years, not 0\n"},
    {"geometry:\n  retention: 14000d\n", "2:14 expected a time above 0 and below 36 years, not 14000d\n"},
    {"geometry:\n  retention: 1 h\n", "2:16 unexpected 'h'\n"},
    {"geometry:\n  mode: 888\n", "2:9 expected permissions in octal such as 0660, not '888'\n"},
    {"geometry:\n  mode: 01777\n", "2:9 expected permissions in octal such as 0660, not '01777'\n"},
    {"geometry:\n  group: no-such-group-here\n",
     "2:10 unknown group 'no-such-group-here': this machine does not have it\n"},
    {"geometry:\n  group: 4294967295\n", "2:10 expected a number from 0 to 4294967294, not 4294967295\n"},
    {"geometry:\n  virtual_clock: yes\n", "2:18 expected false or true, not 'yes'\n"},
    {"geometry:\n  seat: 5\n", "2:3 unknown key 'seat': did you mean 'seats'?\n"},
    {"geometry: {slices: 12}\ntiers: {a: [tokens 1 per 1h/13]}\n", "2:13 a window has at most 12 slices here\n"},
    {"geometry: {limits_per_scope: 1}\ntiers: {a: [tokens 1 per 1h, concurrency 1]}\n",
     "2:30 one limit too many: there can be 1\n"},
    {"geometry: {tiers: 1}\ntiers: {a: [], b: []}\n", "1:1 room for 1 tiers, and the file has 2\n"},
    {"geometry: {scopes: 1}\nscopes: {\"user:a\": [], \"user:b\": []}\n",
     "1:1 room for 1 scopes, and the file has 2\n"},
    {"geometry: {limit_lists: 2}\ntiers: {a: []}\nscopes: {\"user:a\": [], \"user:b\": [], \"user:c\": a}\n",
     "1:1 room for 2 limit lists, and the file has 3\n"},
    /* limits */
    {"tiers: []\n", "1:8 expected a map of tiers to lists of limits, not a list\n"},
    {"tiers:\n  free: tokens 1M per 1h\n", "2:9 expected a list of limits such as [tokens 1M per 1h], not a text\n"},
    {"tiers:\n  free:\n", "2:8 expected a list of limits such as [tokens 1M per 1h], not nothing\n"},
    {"tiers:\n  free: [{tokens: 1M}]\n", "2:10 expected a limit such as tokens 1M per 1h, not a map of keys\n"},
    {"tiers:\n  free: [\"\"]\n", "2:10 expected a limit such as tokens 1M per 1h, not nothing\n"},
    {"tiers:\n  fr ee: []\n",
     "2:3 expected the name of a tier (1 to 31 letters, digits, '.', '_' or '-'), not 'fr ee'\n"},
    {"tiers:\n  free:\n    - token 1M per 1h\n", "3:7 expected tokens, cost, requests, concurrency, input_tokens, "
                                                 "output_tokens, tool_calls or time, not 'token'\n"},
    {"tiers:\n  free:\n    - tokens 1m per 1h\n",
     "3:14 expected an amount such as 500, 10k, 1.5M or unlimited, not '1m'\n"},
    {"tiers:\n  free:\n    - cost 5 per 1h\n",
     "3:12 expected an amount of money such as $0.50, 500000n or unlimited, not '5'\n"},
    {"tiers:\n  free:\n    - tokens 1M\n", "3:16 expected 'per' or 'lifetime', not the end of the text\n"},
    {"tiers:\n  free:\n    - tokens 1M per 1w\n",
     "3:21 expected a length of time such as 90s, 5m or 1h, or hour, day, week, month or request, not '1w'\n"},
    {"tiers:\n  free:\n    - tokens 1M per 1h/65\n", "3:24 expected a number of slices from 1 to 64, not '65'\n"},
    {"tiers:\n  free:\n    - 'tokens 1M per 0s'\n", "3:22 a window must be longer than '0s'\n"},
    {"tiers:\n  free:\n    - \"tokens  1M  per  x\"\n",
     "3:25 expected a length of time such as 90s, 5m or 1h, or hour, day, week, month or request, not 'x'\n"},
    {"tiers:\n  free:\n    - \"tokens\\x20x per 1h\"\n",
     "3:7 expected an amount such as 500, 10k, 1.5M or unlimited, not 'x'\n"},
    {"tiers:\n  free:\n    - tokens\n      x per 1h\n",
     "3:7 expected an amount such as 500, 10k, 1.5M or unlimited, not 'x'\n"},
    {"tiers:\n  free:\n    - tokens 1M per day in Europe/Berlinn\n",
     "3:28 unknown time zone 'Europe/Berlinn': this machine does not have it\n"},
    {"tiers:\n  free:\n    - tokens 1M per day in ../../etc/passwd\n",
     "3:28 expected a time zone such as Europe/Berlin, not '../../etc/passwd'\n"},
    {"tiers:\n  free:\n    - tokens 1M per month from 32\n",
     "3:32 expected a day of the month from 1 to 31, not '32'\n"},
    {"tiers:\n  free:\n    - tokens 1M per 1h/64 strict\n", "3:7 a strict window has at most 63 slices\n"},
    {"tiers:\n  free:\n    - tokens 1M per 20000d/1\n", "3:7 this window is too long\n"},
    {"tiers:\n  free:\n    - tokens 1 per 1h\n    - tokens 2 per 60m\n",
     "4:7 the same limit (unit and window) is listed twice\n"},
    {"tiers:\n  free:\n    - tokens 1 per day in Europe/Berlin\n    - tokens 2 per day in Europe/Paris\n"
     "    - tokens 3 per day in Europe/Berlin\n",
     "5:7 the same limit (unit and window) is listed twice\n"},
    {"tiers:\n  a:\n    - tokens 1 per 1h\n    - tokens 1 per 2h\n    - tokens 1 per 3h\n    - tokens 1 per 4h\n"
     "    - tokens 1 per 5h\n    - tokens 1 per 6h\n    - tokens 1 per 7h\n    - tokens 1 per 8h\n    - tokens 1 per "
     "9h\n",
     "11:7 one limit too many: there can be 8\n"},
    /* limits on single requests */
    {"tiers:\n  a:\n    - time 5s per 1h\n", "3:19 expected 'request', not '1h'\n"},
    {"tiers:\n  a:\n    - time 5 h per request\n", "3:14 expected 'per request', not 'h'\n"},
    {"tiers:\n  a:\n    - time 5x per request\n",
     "3:12 expected a length of time such as 90s, 5m or unlimited, not '5x'\n"},
    {"tiers:\n  a:\n    - time 5s per request\n    - time 6s per request\n",
     "4:7 the same limit (unit and window) is listed twice\n"},
    {"shutoff_at:\n  - cost $5 per request\n", "2:5 a limit on single requests belongs to a tier or a scope\n"},
    /* windows */
    {"windows: {token: per 1h}\n", "1:11 unknown unit 'token': did you mean 'tokens'?\n"},
    {"windows: {concurrency: per 1h}\n", "1:11 concurrency has no window\n"},
    {"windows: {tokens: per 1x}\n",
     "1:23 expected a length of time such as 90s, 5m or 1h, or hour, day, week, month or request, not '1x'\n"},
    {"windows: {cost: 1h}\n", "1:17 expected 'per' or 'lifetime', not '1h'\n"},
    {"windows: {cost: per day in Mars/Base}\n", "1:28 unknown time zone 'Mars/Base': this machine does not have it\n"},
    {"windows: {tokens: per 1h}\ntiers: {a: [requests 5]}\n",
     "2:23 expected 'per' or 'lifetime', not the end of the text\n"},
    /* levels */
    {"tiers: {free: []}\nlevels: {user: fre}\n", "2:16 unknown tier 'fre': did you mean 'free'?\n"},
    {"levels: {user: free}\n", "1:16 unknown tier 'free'\n"},
    {"levels: {user: tokens 5 per 1h}\n", "1:16 expected a tier, or {rank: N, default: TIER}, not 'tokens 5 per 1h'\n"},
    {"levels: {user: }\n", "1:16 expected a tier, or {rank: N, default: TIER}, not nothing\n"},
    {"levels: {team: {}}\n", "1:10 a new level needs a rank: write team: {rank: 3, default: TIER}\n"},
    {"levels: {user: {rank: 3}}\n", "1:23 the rank of user is 4 in every segment\n"},
    {"levels: {team: {rank: x}}\n", "1:10 a new level needs a rank: write team: {rank: 3, default: TIER}\n"
                                    "1:23 expected an amount such as 500, 10k, 1.5M or unlimited, not 'x'\n"},
    {"levels: {team: {rang: 3, rank: 3}}\n", "1:17 unknown key 'rang': did you mean 'rank'?\n"},
    {"levels: {tier: {rank: 3}}\n", "1:10 no level may be called 'tier'\n"},
    {"levels: {te/am: {rank: 3}}\n",
     "1:10 expected the name of a level (1 to 31 letters, digits, '.', '_' or '-'), not 'te/am'\n"},
    {"levels: {a: {rank: 9}, b: {rank: 9}, c: {rank: 9}, d: {rank: 9}, e: {rank: 9}, f: {rank: 9}, g: {rank: 9},\n"
     "  h: {rank: 9}, i: {rank: 9}, j: {rank: 9}, k: {rank: 9}}\n",
     "1:1 there can be 10 levels beside the 6 that every segment has, not 11\n"},
    /* scopes */
    {"scopes: {tenant: []}\n", "1:10 expected a scope such as tenant:acme, not 'tenant'\n"},
    {"scopes: {\"tenant:\": []}\n", "1:11 expected a scope such as tenant:acme, not 'tenant:'\n"},
    {"scopes: {\"tenent:a\": []}\n", "1:11 unknown level 'tenent': did you mean 'tenant'?\n"},
    {"levels: {team: {rank: 3}}\nscopes: {\"taem:a\": []}\n", "2:11 unknown level 'taem': did you mean 'team'?\n"},
    {"scopes: {\"tenant:a\": pro}\n", "1:22 unknown tier 'pro'\n"},
    {"scopes: {\"tenant:a\": tokens 5 per 1h}\n",
     "1:22 expected a tier or a list of limits such as [tokens 1M per 1h], not 'tokens 5 per 1h'\n"},
    {"scopes: {\"tenant:a\": {}}\n",
     "1:22 expected a tier or a list of limits such as [tokens 1M per 1h], not a map of keys\n"},
    {"scopes: {global: [], \"global:\": []}\n", "1:23 'global:' is given twice: first in line 1\n"},
    {"scopes: {\"t\xc3\xa9nant:a\": []}\n", "1:11 unknown level 't\xc3\xa9nant': did you mean 'tenant'?\n"},
    {"scopes:\n  \"tenant:\xc3\xa9\": {}\n",
     "2:15 expected a tier or a list of limits such as [tokens 1M per 1h], not a map of keys\n"},
    {"unlisted_scopes: drop\n", "1:18 expected reset or keep, not 'drop'\n"},
    /* the rest */
    {"overrun: estimate\n", "1:10 expected actual or cap, not 'estimate'\n"},
    {"overrun: [cap]\n", "1:10 expected actual or cap, not a list\n"},
    {"pause_at: cost $5 per day\n", "1:11 expected a list of limits such as [tokens 1M per 1h], not a text\n"},
    {"prices: {path: prices.json}\n", "1:16 expected an absolute path, not 'prices.json'\n"},
    {"prices: {default: {input: $1 per 1M}}\n",
     "1:10 a price needs input and output: what is not said would be taken for free\n"},
    {"prices: {overrides: {m: {input: $1 per 1M, ouput: $1 per 1M}}}\n",
     "1:44 unknown part of a price 'ouput': did you mean 'output'?\n"},
    {"prices: {overrides: {m: {input: 1 per 1M, output: $1, cache_read: $1 for 1M, cache_write: $1 per 0}}}\n",
     "1:33 expected a price such as $2.50 per 1M, not '1'\n"
     "1:53 expected 'per', as in $2.50 per 1M, not the end of the text\n"
     "1:70 expected 'per', as in $2.50 per 1M, not 'for'\n"
     "1:98 a price for '0' tokens says nothing\n"},
    {"prices: {overrides: {m: {input: $0.0000000001 per 1M, output: $1 per 3}}}\n",
     "1:33 '$0.0000000001' is no whole number of pico-dollars for one token\n"
     "1:63 '$1' is no whole number of pico-dollars for one token\n"},
    {"prices: {overrides: {m: {input: $0.0000000000001 per 1, output: $99999999 per 1}}}\n",
     "1:33 '$0.0000000000001' is finer than a pico-dollar\n1:65 '$99999999' is too large\n"},
    {"prices: {default: {input: $1000 per 1M, output: $1000.01 per 1M}}\n", "1:49 that is more than any model costs\n"},
    {"prices: {overrides: {m: free}}\n",
     "1:25 expected prices such as {input: $2.50 per 1M, output: $10 per 1M}, not a text\n"},
    {"estimates: {output_floor: 10, output_cap: 5}\n", "1:1 output_floor is above output_cap\n"},
    {"estimates: {output_default: 10, output_cap: 5}\n",
     "1:1 output_default is not between output_floor and output_cap\n"},
    {"estimates: {output_quantile: 0%, max_share: 101%}\n",
     "1:30 expected a share above 0 and up to 100%, not '0%'\n"
     "1:45 expected a share above 0 and up to 100%, not '101%'\n"},
    {"estimates: {output_quantile: half, max_share: 99.99999%}\n",
     "1:30 expected a share such as 95% or 0.95, not 'half'\n1:47 '99.99999%' is finer than a millionth\n"},
    /* every fault is told, in the order of the file */
    {"levels: {user: nobody}\ntiers: {a: [x, tokens 1 per 1h, y], b: z}\noverrun: x\n",
     "1:16 unknown tier 'nobody'\n"
     "2:13 expected tokens, cost, requests, concurrency, input_tokens, output_tokens, tool_calls or time, not 'x'\n"
     "2:33 expected tokens, cost, requests, concurrency, input_tokens, output_tokens, tool_calls or time, not 'y'\n"
     "2:40 expected a list of limits such as [tokens 1M per 1h], not a text\n"
     "3:10 expected actual or cap, not 'x'\n"},
};

Test(conffile, every_fault_is_told_where_it_is)
{
    static struct told told;
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        tlshm_config_free(read_text(wrong[i].text, &told));
        cr_expect_str_eq(told.text, wrong[i].faults, "of\n%s\nis told\n%snot\n%s", wrong[i].text, told.text,
                         wrong[i].faults);
    }
}

Test(conffile, first_fault_goes_into_the_error)
{
    tlshm_config *c;
    struct tlshm_error err = {0};
    static const char text[] = "overrun: x\nunlisted_scopes: y\n";
    cr_expect_eq(tlshm_config_parse(&c, text, sizeof text - 1, NULL, NULL, &err), -TLSHM_EINVAL);
    cr_expect_str_eq(err.text, "line 1, column 10: expected actual or cap, not 'x' (and 1 more)");
    cr_expect_eq(tlshm_config_parse(&c, text, sizeof text - 1, NULL, NULL, NULL), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_config_parse(NULL, text, sizeof text - 1, NULL, NULL, &err), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_config_parse(&c, NULL, 1, NULL, NULL, &err), -TLSHM_EINVAL);
}

/* More faults than are kept are counted; and none of them makes the reading slow. */
Test(conffile, faults_without_end_are_bounded)
{
    static struct told told;
    enum { MANY = 20000 };
    char *text = malloc(MANY * 32 + 64);
    size_t n = (size_t)sprintf(text, "scopes:\n");
    for (unsigned i = 0; i < MANY; i++)
        n += (size_t)sprintf(text + n, "  user:u%u: unknown-tier\n", i);
    cr_expect_null(read_bytes(text, n, &told));
    cr_expect_eq(told.count, TLSHM_CONFIG_FAULTS_MAX + 1);
    cr_expect_not_null(strstr(told.text, "19000 more faults are not shown\n"));
    free(text);
}

/* A thousand million laughs, depth without end, a key without end: an answer, and soon. */
Test(conffile, hostile_texts_are_answered)
{
    static struct told told;
    static const char laughs[] = "a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nd: &d [*c,*c]\n";
    enum { LONG = 1 << 18 };
    char *text = malloc(LONG);
    cr_expect_null(read_text(laughs, &told));
    static const char *const pieces[] = {"[", "{",   "- ", "? ", "a: {", "\"", "&a ", "!a ",
                                         "a", "a: ", "\n", " ",  "'",    "|",  "%",   "\xef\xbb\xbf"};
    for (size_t i = 0; i < COUNT_OF(pieces); i++) {
        size_t size = strlen(pieces[i]);
        for (size_t at = 0; at + size <= LONG; at += size)
            memcpy(text + at, pieces[i], size);
        cr_expect_null(read_bytes(text, LONG / size * size, &told), "%s", pieces[i]);
        cr_expect_gt(told.count, 0);
    }
    free(text);
}

Test(conffile, too_large_a_text_is_refused_unread)
{
    tlshm_config *c = NULL;
    struct tlshm_error err = {0};
    cr_expect_eq(tlshm_config_parse(&c, "x", TLSHM_CONFIG_BYTES_MAX + 1, NULL, NULL, &err), -TLSHM_ERANGE);
    cr_expect_null(c);
}

Test(conffile, files_that_cannot_be_read)
{
    tlshm_config *c = NULL;
    struct tlshm_error err = {0};
    cr_expect_eq(tlshm_config_load(&c, "/nowhere/at/all", NULL, NULL, &err), -TLSHM_ENOENT);
    cr_expect_str_eq(err.text, "/nowhere/at/all: No such file or directory");
    cr_expect_eq(tlshm_config_load(&c, "/", NULL, NULL, &err), -TLSHM_ESYS);
    cr_expect_eq(tlshm_config_load(&c, NULL, NULL, NULL, &err), -TLSHM_EINVAL);
    cr_expect_eq(tlshm_config_load(&c, "/dev/null", NULL, NULL, &err), -TLSHM_EINVAL);
    cr_expect_str_eq(err.text, "/dev/null: line 1, column 1: the file is empty");
    cr_expect_eq(tlshm_config_load(&c, "/dev/zero", NULL, NULL, &err), -TLSHM_ERANGE);
    cr_expect_null(c);
}

/* ------------------------------------------------------------------------------------------------------------ values */

Test(conffile, everything_is_read)
{
    tlshm_config *c = sound(
        "\xef\xbb\xbfgeometry: {scopes: 20k, slices: 12, retention: 2h, mode: \"0600\", group: 0, virtual_clock: "
        "true}\n"
        "overrun: cap\n"
        "windows: {tokens: per 5m, cost: per month in Europe/Berlin from 15}\n"
        "tiers:\n"
        "  pro: [tokens 1.5M, cost $0.50, requests unlimited per 1h/6, time 300s per request]\n"
        "  free: []\n"
        "levels: {user: free, team: {rank: 9, default: pro}, org: {}}\n"
        "unlisted_scopes: keep\n"
        "scopes: {global: [concurrency 5], \"team:x y\": pro, user:a: [input_tokens 100k per request]}\n"
        "pause_at: [cost $5 per day]\n"
        "shutoff_at: [cost $10 per day, tokens 1G]\n"
        "prices:\n"
        "  path: /etc/prices.json\n"
        "  default: {input: $1 per 1k, output: $0.000001 per 1}\n"
        "  overrides: {m: {input: $2.50 per 1M tokens, output: $0 per 1M, cache_write_1h: $0.000001 per 1M}}\n"
        "estimates: {output_default: 1k, output_floor: 10, output_cap: 4k, output_quantile: 99.5%, max_share: 0.25,"
        " cached_discount: 90%}\n");
    const tlshm_config_settings *s = tlshm_config_get_settings(c);
    cr_expect_eq(s->sections, 0x1ff);
    cr_expect_eq(s->geometry.scopes, 20000);
    cr_expect_eq(s->geometry.slices, 12);
    cr_expect_eq(s->geometry.retention_ns, 7200 * S);
    cr_expect_eq(s->geometry.mode, 0600);
    cr_expect_eq(s->geometry.virtual_clock, 1);
    cr_expect_eq(s->geometry.seats, 0, "not said");
    cr_expect_eq(s->overrun, TLSHM_CAP_AT_ESTIMATE);
    cr_expect_eq(s->keep_unlisted, 1);
    cr_expect_eq(s->pause_at.count, 1);
    cr_expect_eq(s->shutoff_at.limit[1].window.length_ns, 300 * S);
    cr_expect_str_eq(s->prices_path, "/etc/prices.json");
    cr_expect_eq(s->estimates.output_default, 1000);
    cr_expect_eq(s->estimates.quantile_ppm, 995000);
    cr_expect_eq(s->estimates.max_share_ppm, 250000);
    cr_expect_eq(s->estimates.cached_discount_ppm, 900000);

    const tlshm_config_tier *pro = tlshm_config_get_tier(c, 1);
    cr_expect_str_eq(tlshm_config_get_tier(c, 0)->name, "free");
    cr_expect_null(tlshm_config_get_tier(c, 2));
    cr_expect_eq(pro->line, 5);
    cr_assert_eq(pro->limits.count, 4);
    cr_expect_eq(pro->limits.limit[0].cap, 1500000);
    cr_expect_eq(pro->limits.limit[0].window.length_ns, 300 * S);
    cr_expect_eq(pro->limits.limit[1].cap, S / 2);
    cr_expect_str_eq(pro->limits.limit[1].window.zone, "Europe/Berlin");
    cr_expect_eq(pro->limits.limit[1].window.anchor, 15);
    cr_expect_eq(pro->limits.limit[2].cap, TLSHM_UNLIMITED);
    cr_expect_eq(pro->limits.limit[3].unit, TLSHM_TIME);
    cr_expect_eq(pro->limits.limit[3].window.kind, TLSHM_WINDOW_REQUEST);
    cr_expect_eq(pro->limits.limit[3].cap, 300 * S);

    cr_expect_str_eq(tlshm_config_get_level(c, 1)->name, "team");
    cr_expect_eq(tlshm_config_get_level(c, 1)->rank, 9);
    cr_expect_str_eq(tlshm_config_get_level(c, 1)->tier, "pro");
    cr_expect_null(tlshm_config_get_level(c, 0)->tier);
    cr_expect_eq(tlshm_config_get_level(c, 2)->rank, 4, "user");
    cr_expect_str_eq(tlshm_config_get_scope(c, 0)->key, "global:");
    cr_expect_null(tlshm_config_get_scope(c, 0)->tier);
    cr_expect_str_eq(tlshm_config_get_scope(c, 1)->key, "team:x y");
    cr_assert_eq(tlshm_config_get_scope(c, 2)->limits.count, 1);
    cr_expect_eq(tlshm_config_get_scope(c, 2)->limits.limit[0].unit, TLSHM_INPUT_TOKENS);
    cr_expect_eq(tlshm_config_get_scope(c, 2)->limits.limit[0].cap, 100000);

    const tlshm_config_price *other = tlshm_config_get_price(c, 0), *m = tlshm_config_get_price(c, 1);
    cr_expect_str_eq(other->model, "");
    cr_expect_eq(other->pusd[TLSHM_CONFIG_INPUT], S);
    cr_expect_eq(other->pusd[TLSHM_CONFIG_OUTPUT], 1000000);
    cr_expect_str_eq(m->model, "m");
    cr_expect_eq(m->pusd[TLSHM_CONFIG_INPUT], 2500000);
    cr_expect_eq(m->pusd[TLSHM_CONFIG_OUTPUT], 0, "free, because it says so");
    cr_expect_eq(m->pusd[TLSHM_CONFIG_CACHE_WRITE_1H], 1);
    cr_expect_eq(m->pusd[TLSHM_CONFIG_REASONING], TLSHM_UNLIMITED, "not said");
    tlshm_config_free(c);
    tlshm_config_free(NULL);
}

Test(conffile, nothing_of_nothing)
{
    cr_expect_null(tlshm_config_get_settings(NULL));
    cr_expect_null(tlshm_config_get_tier(NULL, 0));
    cr_expect_null(tlshm_config_get_level(NULL, 0));
    cr_expect_null(tlshm_config_get_scope(NULL, 0));
    cr_expect_null(tlshm_config_get_price(NULL, 0));
    cr_expect_eq(tlshm_config_write(NULL, NULL, NULL), -TLSHM_EINVAL);
}

/* ---------------------------------------------------------------------------------------------------------- writing */

struct page {
    char text[1 << 18];
    size_t size;
};

static int put(void *context, const char *text, size_t size)
{
    struct page *page = context;
    cr_assert_lt(page->size + size, sizeof page->text);
    memcpy(page->text + page->size, text, size);
    page->text[page->size += size] = 0;
    return 0;
}

static const char *written(const tlshm_config *c, struct page *page)
{
    page->size = page->text[0] = 0;
    cr_assert_eq(tlshm_config_write(c, put, page), 0);
    return page->text;
}

Test(conffile, is_written_as_people_write)
{
    static struct page page;
    static const char text[] =
        "geometry:\n  scopes: 20000\n  retention: 2h\n  mode: 0600\n"
        "overrun: cap\n"
        "tiers:\n  free: []\n  pro:\n    - tokens 1.5M per 5m\n    - cost $0.50 per month in Europe/Berlin "
        "from 15\n    - input_tokens 100k per request\n    - time 5m per request\n"
        "levels:\n  team: {rank: 9, default: pro}\n  user: free\n"
        "unlisted_scopes: keep\n"
        "scopes:\n  global:\n    - concurrency 5\n  \"user:\\\"\\\\\\u2028: #\": pro\n  \"user:\xc3\xa9\": []\n"
        "pause_at:\n  - cost $5 per day\n"
        "shutoff_at: []\n"
        "prices:\n  path: /etc/prices.json\n  default: {input: $1000 per 1M, output: $0.000001 per 1M}\n"
        "  overrides:\n    m: {input: $2.50 per 1M, output: $0 per 1M}\n"
        "estimates:\n  output_cap: 4000\n  output_quantile: 99.5%\n";
    tlshm_config *c = sound(text);
    cr_expect_str_eq(written(c, &page), text);
    tlshm_config_free(c);
}

static int refuse_third(void *context, const char *text, size_t size)
{
    (void)text, (void)size;
    unsigned *count = context;
    return ++*count == 3 ? 77 : 0;
}

Test(conffile, writing_ends_when_it_is_refused)
{
    unsigned count = 0;
    tlshm_config *c = sound("tiers: {a: []}\noverrun: cap\n");
    cr_expect_eq(tlshm_config_write(c, refuse_third, &count), 77);
    cr_expect_eq(count, 3);
    tlshm_config_free(c);
}

/* ------------------------------------------------------------------------------------------- random files, read back */

static uint64_t state;

static unsigned below(unsigned n)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(state >> 33) % n;
}

static const char *one_of(const char *const *words, unsigned count)
{
    return words[below(count)];
}

static void add(struct page *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct page *p, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    p->size += (size_t)vsnprintf(p->text + p->size, sizeof p->text - p->size, format, arguments);
    va_end(arguments);
    cr_assert_lt(p->size, sizeof p->text);
}

/* Limits that differ from each other, and caps. */
static void add_limits(struct page *p, bool requests)
{
    static const char *const units[] = {"tokens", "requests", "input_tokens", "output_tokens", "tool_calls"};
    static const char *const counts[] = {"0", "1", "10k", "1.5M", "unlimited", "9007199254740993", "7G"};
    static const char *const money[] = {"$0", "$0.50", "$1234.000000001", "5n", "unlimited", "$2k"};
    static const char *const zones[] = {"", " in Europe/Berlin", " in UTC", " in America/New_York"};
    static const char *const anchors[] = {"hour%s", "day%s",           "week%s from sunday",
                                          "week%s", "month%s from 15", "month%s from 1"};
    unsigned count = below(5);
    add(p, "[");
    for (unsigned i = 0; i < count; i++) {
        bool cost = below(3) == 0;
        add(p, "%s%s %s ", i ? ", " : "", cost ? "cost" : one_of(units, COUNT_OF(units)),
            cost ? one_of(money, COUNT_OF(money)) : one_of(counts, COUNT_OF(counts)));
        if (below(2)) /* i keeps the windows apart */
            add(p, "per %u%s/%u%s", 1 + i, below(2) ? "h" : "m", 1 + below(60), below(3) ? "" : " strict");
        else if (below(4) == 0 && i == 0)
            add(p, "lifetime");
        else {
            char period[64];
            snprintf(period, sizeof period, anchors[i], one_of(zones, COUNT_OF(zones)));
            add(p, "per %s", period);
        }
    }
    if (requests && below(3) == 0)
        add(p, "%sconcurrency %u", count++ ? ", " : "", below(100));
    if (requests && below(3) == 0)
        add(p, "%stime %ums per request", count++ ? ", " : "", 1 + below(100000));
    if (requests && below(3) == 0)
        add(p, "%scost $0.%u per request", count ? ", " : "", 1 + below(1000));
    add(p, "]\n");
}

static void add_share(struct page *p, const char *key)
{
    if (below(2))
        add(p, "  %s: %u.%u%%\n", key, below(100), 1 + below(9999));
}

static void add_figures(struct page *p)
{
    if (below(2))
        add(p, "geometry:\n  scopes: %u\n  limit_lists: %u\n  models: %u\n  seats: %u\n", 100 + below(1000),
            200 + below(1000), 1 + below(100), 1 + below(100));
    if (below(2))
        add(p, "overrun: %s\n", below(2) ? "cap" : "actual");
    if (below(2))
        add(p, "unlisted_scopes: %s\n", below(2) ? "keep" : "reset");
    if (below(2))
        add(p, "pause_at: "), add_limits(p, false);
    if (below(2))
        add(p, "shutoff_at: "), add_limits(p, false);
    if (below(2)) {
        add(p, "estimates:\n  output_cap: %u\n", 10 + below(100000));
        add_share(p, "output_quantile");
        add_share(p, "max_share");
        add_share(p, "cached_discount");
    }
    if (below(2)) {
        add(p, "prices:\n  path: \"/a b/%u: #\"\n", below(100));
        if (below(2))
            add(p, "  default: {input: $%u.%06u per 1M, output: $%u per 10k}\n", below(100), below(1000000), below(9));
        if (below(2))
            add(p, "  overrides:\n    \"x/y: %u\": {input: $1 per 1M, output: $%u per 10k, reasoning: $%u per 100k}\n",
                below(9), below(9), below(9));
    }
}

static void random_file(struct page *p)
{
    static const char *const ids[] = {"a",    "b c",     "\xc3\xa9", "x: y", "#",
                                      "\\\"", "\\u2028", "-",        "a:b",  "\xf0\x9f\x98\x80",
                                      "'",    "~",       "%a",       "[",    "}"};
    unsigned tiers = below(6);
    p->size = p->text[0] = 0;
    add(p, "tiers:%s\n", tiers ? "" : " {}");
    for (unsigned i = 0; i < tiers; i++)
        add(p, "  t%u.%s: ", i, below(2) ? "x-" : "_"), add_limits(p, true);
    tlshm_config *c = sound(p->text);
    if (below(4)) {
        add(p, "levels:\n  team: {rank: %u}\n", below(100));
        if (tiers)
            add(p, "  user: %s\n", tlshm_config_get_tier(c, below(tiers))->name);
    }
    if (below(4)) {
        add(p, "scopes:\n  global: "), add_limits(p, true);
        for (unsigned i = 0; i < COUNT_OF(ids); i++) {
            if (below(2))
                continue;
            add(p, "  \"user:%s\": ", ids[i]);
            if (tiers && below(2))
                add(p, "%s\n", tlshm_config_get_tier(c, below(tiers))->name);
            else
                add_limits(p, true);
        }
    }
    tlshm_config_free(c);
    add_figures(p);
}

Test(conffile, what_is_written_reads_back_to_the_same)
{
    static struct page file, first, second;
    state = 4711;
    for (unsigned i = 0; i < 600; i++) {
        random_file(&file);
        tlshm_config *c = sound(file.text);
        written(c, &first);
        tlshm_config *again = sound(first.text);
        cr_assert_str_eq(first.text, written(again, &second), "%s", file.text);
        cr_assert_eq(tlshm_config_get_settings(c)->sections, tlshm_config_get_settings(again)->sections);
        tlshm_config_free(again);
        tlshm_config_free(c);
    }
}
