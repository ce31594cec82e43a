/* SPDX-License-Identifier: MIT */
/* settings.c - the option table, defaults, and the rules about which options go together. */
#include "settings.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tlshm/admin.h>

#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_MINUTE (60 * NS_PER_S)
#define TTL_DEFAULT_NS (10 * NS_PER_MINUTE) /* twice the longest call of the public traces */
#define TICK_DEFAULT_NS NS_PER_S
#define REAP_DEFAULT_NS (10 * NS_PER_S)
#define WALL_DEFAULT_NS INT64_C(1767225600000000000) /* 2026-01-01, for traces that tell no date */
#define NUSD_PER_MTOK_MAX (1000 * NS_PER_S)          /* $1000 for a million tokens */
#define DURATION_MAX_NS (366 * 24 * 60 * NS_PER_MINUTE)

/* Example prices in nano-dollars for a million tokens, of the order that large models cost. */
#define PRICE_INPUT (5 * NS_PER_S)
#define PRICE_CACHED (NS_PER_S / 2)
#define PRICE_OUTPUT (25 * NS_PER_S)

enum {
    NUSD_PER_MTOK_TO_PUSD_PER_TOK = 1000, /* a nano is 1000 picos, a million tokens are a million: divide by it */
    OUTPUT_BOUND = 32000,                 /* what coding agents ask for at most */
    WORKERS = 4,
    REQUESTS = 4000,
    TENANTS = 13,
    SESSIONS = 120,
    MINUTES = 60,
    MINUTES_MAX = 525600,
    REQUESTS_MAX = 4000000,
    SESSIONS_MAX = 1000000,
    TENANTS_MAX = 100000,
    KILLS_MAX = 100000,
    MS_MAX = 3600000
};

enum {
    OPT_WORKERS = 1,
    OPT_TIME,
    OPT_TICK,
    OPT_TTL,
    OPT_GLOBAL,
    OPT_AGENT_LIMIT,
    OPT_TENANT_LIMIT,
    OPT_GLOBAL_LIMIT,
    OPT_MAX_OUTPUT,
    OPT_EXACT,
    OPT_LEARNED,
    OPT_PRICES,
    OPT_PRICE,
    OPT_PRICE_IN,
    OPT_PRICE_CACHED,
    OPT_PRICE_OUT,
    OPT_CRASH_RATE,
    OPT_KILLS,
    OPT_KILL_EVERY,
    OPT_REAPER,
    OPT_SEGMENT,
    OPT_KEEP,
    OPT_SPREAD,
    OPT_SKIP_BAD,
    OPT_GENERATE,
    OPT_REQUESTS,
    OPT_TENANTS,
    OPT_SESSIONS,
    OPT_MINUTES,
    OPT_OUTPUT,
    OPT_SEED,
    OPT_JSON
};

static const struct option_row options[] = {
    {OPT_WORKERS, "workers", 'w', "N", "worker processes (4)"},
    {OPT_TIME, "time", 't', "TIME", "virtual (default), real, or a speed such as 60x"},
    {OPT_TICK, "tick", 0, "TIME", "virtual time: what is due within it happens at once (1s)"},
    {OPT_TTL, "ttl", 0, "TIME", "the life of a hold (10m)"},
    {OPT_GLOBAL, "global", 'g', NULL, "every call names the scope global: as well"},
    {OPT_AGENT_LIMIT, "agent-limit", 0, "LIMIT", "of each agent, such as 'tokens 2M per 1h'; repeatable"},
    {OPT_TENANT_LIMIT, "tenant-limit", 0, "LIMIT", "of each tenant; repeatable"},
    {OPT_GLOBAL_LIMIT, "global-limit", 0, "LIMIT", "of all together; repeatable; implies --global"},
    {OPT_MAX_OUTPUT, "max-output", 0, "N", "output tokens that a call reserves (32000)"},
    {OPT_EXACT, "exact", 0, NULL, "a call reserves what it will use, as nobody can know, to see what estimates cost"},
    {OPT_LEARNED, "learned", 0, NULL,
     "a call reserves what was learned of its model, --max-output until enough is known"},
    {OPT_PRICES, "prices", 'p', "FILE", "price table, LiteLLM's or genai-prices'; else $TLSHM_PRICES"},
    {OPT_PRICE, "price", 0, "MODEL=PRICE", "of one model, such as 'm=input $3 output $15'; repeatable"},
    {OPT_PRICE_IN, "price-in", 0, "USD", "a million input tokens, of models without a price (example figure: 5)"},
    {OPT_PRICE_CACHED, "price-cached", 0, "USD", "a million cached input tokens (0.5)"},
    {OPT_PRICE_OUT, "price-out", 0, "USD", "a million output tokens (25)"},
    {OPT_CRASH_RATE, "crash-rate", 0, "P", "share of calls in which their worker dies (0)"},
    {OPT_KILLS, "kills", 'k', "N", "workers to kill at random instants of the trace (0)"},
    {OPT_KILL_EVERY, "kill-every", 0, "MS", "kill a worker each time so many real milliseconds have passed"},
    {OPT_REAPER, "reaper", 0, "PATH", "let this tlshm-reaper expire holds"},
    {OPT_SEGMENT, "segment", 's', "NAME", "the segment to make (replay-PID)"},
    {OPT_KEEP, "keep", 0, NULL, "leave the segment there"},
    {OPT_SPREAD, "spread", 0, "TIME", "sessions without a wall clock start within this (1h)"},
    {OPT_SKIP_BAD, "skip-bad", 0, NULL, "count rows that make no sense instead of stopping"},
    {OPT_GENERATE, "generate", 0, NULL, "replay a generated trace"},
    {OPT_REQUESTS, "requests", 'n', "N", "generate: calls (4000)"},
    {OPT_TENANTS, "tenants", 0, "N", "tenants, generated or for a trace that knows none (13)"},
    {OPT_SESSIONS, "sessions", 0, "N", "sessions, likewise (120)"},
    {OPT_MINUTES, "minutes", 0, "N", "generate: length (60)"},
    {OPT_OUTPUT, "output", 'o', "FILE", "generate: only write the trace, gzipped if FILE ends in .gz"},
    {OPT_SEED, "seed", 0, "N", "of all that is drawn at random (1)"},
    {OPT_JSON, "json", 'j', NULL, "print one JSON object"},
    OPTION_ROWS_END,
};

const struct tool_info settings_tool = {
    "tlshm-replay",
    "Replays a trace of model calls through worker processes on a segment of its own, kills some of them if asked to, "
    "and "
    "audits every figure.",
    "[OPTION]... TRACE\n       tlshm-replay [OPTION]... --generate [--output FILE]",
    options,
    NULL,
    "TRACE is a CSV file, plain or gzipped, or - ; its header decides the format (see tlshm-replay(1)).\n"
    "Exit codes: 0 every figure adds up, 1 some do not, 2 wrong usage, 3 an error.\n",
};

static bool refuse(const struct option_parser *p, const char *what)
{
    options_complain(&settings_tool, "--%s: '%s' is not %s", p->name, p->argument, what);
    return false;
}

static bool take_duration(const struct option_parser *p, uint64_t *ns)
{
    struct tlshm_error why;
    uint64_t value;
    if (tlshm_duration_parse(p->argument, &value, &why) < 0 || value == 0 || value > DURATION_MAX_NS)
        return refuse(p, "a time such as 30s, 5m or 1h, up to a year");
    *ns = value;
    return true;
}

static bool take_price(const struct option_parser *p, uint64_t *pusd)
{
    struct tlshm_error why;
    uint64_t nusd;
    char text[64];
    const char *digits = p->argument[0] == '$' ? p->argument + 1 : p->argument;
    snprintf(text, sizeof text, "$%s", digits);
    if (tlshm_amount_parse(text, TLSHM_COST, &nusd, &why) < 0 || nusd > NUSD_PER_MTOK_MAX)
        return refuse(p, "a price in dollars from 0 to 1000");
    *pusd = nusd / NUSD_PER_MTOK_TO_PUSD_PER_TOK;
    return true;
}

static bool take_flat(const struct option_parser *p, struct tariff_settings *tariff, uint64_t *pusd)
{
    tariff->flat_given = true;
    return take_price(p, pusd);
}

static bool take_model_price(const struct option_parser *p, struct tariff_settings *tariff)
{
    if (tariff->price_count == TARIFF_PRICES_MAX) {
        options_complain(&settings_tool, "--%s: more than %d of them", p->name, TARIFF_PRICES_MAX);
        return false;
    }
    tariff->prices[tariff->price_count++] = p->argument;
    return true;
}

static bool take_limit(const struct option_parser *p, struct level_limits *limits)
{
    struct tlshm_error why;
    if (limits->count == TLSHM_LIMITS_MAX) {
        options_complain(&settings_tool, "--%s: more than %d of them", p->name, TLSHM_LIMITS_MAX);
        return false;
    }
    if (tlshm_limit_parse(p->argument, &limits->limits[limits->count], &why) < 0) {
        options_complain(&settings_tool, "--%s: %s", p->name, why.text);
        return false;
    }
    limits->count++;
    return true;
}

static bool take_share(const struct option_parser *p, double *out)
{
    char *end;
    double value = strtod(p->argument, &end);
    if (end == p->argument || *end || !(value >= 0 && value <= 1))
        return refuse(p, "a share from 0 to 1");
    *out = value;
    return true;
}

static bool take_time(const struct option_parser *p, struct run_settings *run)
{
    char *end;
    run->is_virtual = strcmp(p->argument, "virtual") == 0;
    run->speed = 1;
    if (run->is_virtual || strcmp(p->argument, "real") == 0)
        return true;
    double speed = strtod(p->argument, &end);
    if (end == p->argument || strcmp(end, "x") != 0 || !(speed >= 0.001 && speed <= 1e6))
        return refuse(p, "virtual, real, or a speed such as 60x");
    run->speed = speed;
    return true;
}

static bool take_name(const struct option_parser *p, struct settings *s)
{
    size_t n = strlen(p->argument);
    if (n == 0 || n >= sizeof s->segment)
        return refuse(p, "a segment's name");
    memcpy(s->segment, p->argument, n + 1);
    return true;
}

static bool take_number(const struct option_parser *p, uint64_t min, uint64_t max, uint64_t *out)
{
    return options_number(p, NULL, p->argument, min, max, out);
}

static bool take_unsigned(const struct option_parser *p, unsigned max, unsigned *out)
{
    uint64_t value;
    if (!take_number(p, 1, max, &value))
        return false;
    *out = (unsigned)value;
    return true;
}

static bool take_scaled(const struct option_parser *p, uint64_t max, uint64_t scale, uint64_t *out)
{
    if (!take_number(p, 1, max, out))
        return false;
    *out *= scale;
    return true;
}

/* Options about the trace. */
static bool take_for_trace(struct settings *s, int id, const struct option_parser *p, bool *generate)
{
    switch (id) {
    case OPT_GENERATE:
        return *generate = true;
    case OPT_REQUESTS:
        return take_number(p, 1, REQUESTS_MAX, &s->generate.requests);
    case OPT_TENANTS:
        return take_unsigned(p, TENANTS_MAX, &s->generate.tenants);
    case OPT_SESSIONS:
        return take_unsigned(p, SESSIONS_MAX, &s->generate.sessions);
    case OPT_MINUTES:
        return take_scaled(p, MINUTES_MAX, NS_PER_MINUTE, &s->generate.length_ns);
    case OPT_OUTPUT:
        s->output = p->argument;
        return true;
    case OPT_SPREAD:
        return take_duration(p, &s->cast.spread_ns);
    default:
        return s->skip_bad = true;
    }
}

/* Options about the calls. */
static bool take_for_calls(struct settings *s, int id, const struct option_parser *p)
{
    switch (id) {
    case OPT_TTL:
        return take_duration(p, &s->rules.ttl_ns);
    case OPT_GLOBAL:
        return s->rules.global = true;
    case OPT_AGENT_LIMIT:
        return take_limit(p, &s->limits[0]);
    case OPT_TENANT_LIMIT:
        return take_limit(p, &s->limits[1]);
    case OPT_GLOBAL_LIMIT:
        s->rules.global = true;
        return take_limit(p, &s->limits[2]);
    case OPT_MAX_OUTPUT:
        return take_number(p, 0, TRACE_TOKENS_MAX, &s->tariff.output_bound);
    case OPT_EXACT:
        return s->tariff.exact = true;
    case OPT_LEARNED:
        return s->tariff.learned = true;
    case OPT_PRICES:
        s->tariff.table = p->argument;
        return true;
    case OPT_PRICE:
        return take_model_price(p, &s->tariff);
    case OPT_PRICE_IN:
        return take_flat(p, &s->tariff, &s->tariff.input_pusd);
    case OPT_PRICE_CACHED:
        return take_flat(p, &s->tariff, &s->tariff.cached_pusd);
    default:
        return take_flat(p, &s->tariff, &s->tariff.output_pusd);
    }
}

/* Options about how it is run. */
static bool take_for_run(struct settings *s, int id, const struct option_parser *p)
{
    switch (id) {
    case OPT_WORKERS:
        return take_unsigned(p, CREW_MAX, &s->run.workers);
    case OPT_TIME:
        return take_time(p, &s->run);
    case OPT_TICK:
        return take_duration(p, &s->run.tick_ns);
    case OPT_CRASH_RATE:
        return take_share(p, &s->rules.crash_rate);
    case OPT_KILLS:
        return take_number(p, 0, KILLS_MAX, &s->run.kills);
    case OPT_KILL_EVERY:
        return take_scaled(p, MS_MAX, NS_PER_MS, &s->run.kill_every_ns);
    case OPT_REAPER:
        s->run.reaper = p->argument;
        return true;
    case OPT_SEGMENT:
        return take_name(p, s);
    case OPT_KEEP:
        return s->keep = true;
    case OPT_SEED:
        return take_number(p, 0, UINT64_MAX, &s->rules.seed);
    default:
        return s->json = true;
    }
}

static bool take(struct settings *s, int id, const struct option_parser *p, bool *generate)
{
    switch (id) {
    case OPT_GENERATE:
    case OPT_REQUESTS:
    case OPT_TENANTS:
    case OPT_SESSIONS:
    case OPT_MINUTES:
    case OPT_OUTPUT:
    case OPT_SPREAD:
    case OPT_SKIP_BAD:
        return take_for_trace(s, id, p, generate);
    case OPT_TTL:
    case OPT_GLOBAL:
    case OPT_AGENT_LIMIT:
    case OPT_TENANT_LIMIT:
    case OPT_GLOBAL_LIMIT:
    case OPT_MAX_OUTPUT:
    case OPT_EXACT:
    case OPT_LEARNED:
    case OPT_PRICES:
    case OPT_PRICE:
    case OPT_PRICE_IN:
    case OPT_PRICE_CACHED:
    case OPT_PRICE_OUT:
        return take_for_calls(s, id, p);
    default:
        return take_for_run(s, id, p);
    }
}

static void set_defaults(struct settings *s)
{
    *s = (struct settings){
        .generate = {.requests = REQUESTS,
                     .tenants = TENANTS,
                     .sessions = SESSIONS,
                     .length_ns = MINUTES * NS_PER_MINUTE},
        .cast = {.spread_ns = MINUTES * NS_PER_MINUTE},
        .rules = {.ttl_ns = TTL_DEFAULT_NS, .seed = 1},
        .tariff = {.output_bound = OUTPUT_BOUND,
                   .input_pusd = PRICE_INPUT / NUSD_PER_MTOK_TO_PUSD_PER_TOK,
                   .cached_pusd = PRICE_CACHED / NUSD_PER_MTOK_TO_PUSD_PER_TOK,
                   .output_pusd = PRICE_OUTPUT / NUSD_PER_MTOK_TO_PUSD_PER_TOK},
        .run = {.workers = WORKERS,
                .is_virtual = true,
                .speed = 1,
                .tick_ns = TICK_DEFAULT_NS,
                .reap_every_ns = REAP_DEFAULT_NS,
                .wall_start_ns = WALL_DEFAULT_NS},
    };
    snprintf(s->segment, sizeof s->segment, "replay-%d", (int)getpid());
}

/* One seed and one cast for all who need them. */
static void spread_out(struct settings *s)
{
    s->generate.seed = s->cast.seed = s->run.seed = s->rules.seed;
    s->cast.tenants = s->generate.tenants;
    s->cast.sessions = s->generate.sessions;
    s->run.segment = s->segment;
}

static const char *contradiction(const struct settings *s, bool generate, int operands)
{
    if (operands > 1)
        return "more than one trace";
    if (operands == 0 && !generate)
        return "a trace is missing, or --generate";
    if (operands > 0 && generate)
        return "a trace and --generate exclude each other";
    if (s->output && !generate)
        return "--output goes with --generate";
    if (s->tariff.exact && s->tariff.learned)
        return "--exact and --learned exclude each other";
    if (s->tariff.learned && s->tariff.output_bound == 0)
        return "--learned needs a --max-output to begin with";
    if (s->tariff.cached_pusd > s->tariff.input_pusd)
        return "--price-cached is above --price-in: the estimate would be too low";
    return NULL;
}

static void take_environment(struct settings *s)
{
    const char *table = getenv("TLSHM_PRICES");
    if (!s->tariff.table && table && *table)
        s->tariff.table = table;
}

bool settings_read(struct settings *s, int argc, char **argv, int *exit_code)
{
    struct option_parser p;
    bool generate = false;
    set_defaults(s);
    options_start(&p, &settings_tool, NULL, argc, argv);
    *exit_code = EXIT_USAGE;
    for (int id; (id = options_next(&p)) > 0;)
        if (!take(s, id, &p, &generate))
            return false;
    if (p.stopped) {
        *exit_code = p.exit_code;
        return false;
    }
    const char *wrong = contradiction(s, generate, p.argc);
    if (wrong) {
        options_complain(&settings_tool, "%s", wrong);
        return false;
    }
    s->trace = generate ? NULL : p.argv[0];
    take_environment(s);
    spread_out(s);
    return true;
}
