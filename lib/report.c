/* SPDX-License-Identifier: MIT */
/* report.c - takes what the reader finds at the spots, document by document. */
#include "report.h"

#include "text.h"

#define BIT(slot) (UINT64_C(1) << (slot))
#define METER                                                                                                          \
    (BIT(TL_SLOT_METER_INPUT) | BIT(TL_SLOT_METER_OUTPUT) | BIT(TL_SLOT_METER_READ) | BIT(TL_SLOT_METER_WRITE))
/* A document with one of these tells its use. */
#define CORE                                                                                                           \
    (BIT(TL_SLOT_PROMPT) | BIT(TL_SLOT_INPUT) | BIT(TL_SLOT_OUTPUT) | BIT(TL_SLOT_THOUGHTS) | BIT(TL_SLOT_TOTAL) |     \
     BIT(TL_SLOT_BILLED_INPUT) | BIT(TL_SLOT_BILLED_OUTPUT))

/* The sums over a list of steps. */
#define STEPS (tl_ones(2 * TL_ENTRY_FIGURES) << TL_SLOT_EXTRA_INPUT)

enum { MODALITIES = 3 };
enum error_rank { RANK_CODE = 1, RANK_STATUS, RANK_TYPE, RANK_NUMBER, RANK_ANY };

_Static_assert(TL_SLOTS <= 64, "slots are bits of a word");
_Static_assert(TL_SLOT_OTHER_INPUT - TL_SLOT_EXTRA_INPUT == TL_ENTRY_FIGURES, "both in the order of TL_OF_");
_Static_assert(TL_OF_WRITE_1H - TL_OF_INPUT + 1 == TL_ENTRY_FIGURES, "both in the order of TL_OF_");
_Static_assert(TL_SLOT_OUT_AUDIO - TL_SLOT_IN_AUDIO == MODALITIES * (TL_LIST_OUT - TL_LIST_IN), "by list");
_Static_assert(TL_ENTRY_STEP - TL_LIST_STEPS == TL_ENTRY_IN - TL_LIST_IN, "lists and entries in one order");

/* What is being told. */
struct told {
    struct tl_account *a;
    uint64_t taken;
    const struct tl_json_spot *spot;
    enum tl_json_event event;
    const char *text;
    unsigned length;
};

/* --------------------------------------------------------------------------------------------------------- problems */

static void put_printable(struct tl_text *w, const char *text, size_t n)
{
    enum { SHOWN = 30 };

    for (size_t i = 0; i < n && i < SHOWN; i++)
        tl_text_put_bytes(w, text[i] >= ' ' && text[i] < 0x7f ? &text[i] : "?", 1);
    if (n > SHOWN)
        tl_text_put(w, "...");
}

/* Begins the words on a problem; false if there are some already. */
static bool begin_problem(struct tl_account *a, uint64_t taken, struct tl_text *w)
{
    a->known.unsure = true;
    if (a->known.problem[0])
        return false;
    *w = (struct tl_text){a->known.problem, sizeof a->known.problem, 0};
    tl_text_put(w, "document ");
    tl_text_put_number(w, (uint64_t)a->known.documents + 1);
    tl_text_put(w, ", byte ");
    tl_text_put_number(w, taken - a->doc.base);
    tl_text_put(w, ": ");
    return true;
}

void tl_report_problem(struct tl_account *a, uint64_t taken, const char *what)
{
    struct tl_text w;

    if (begin_problem(a, taken, &w)) {
        tl_text_put(&w, what);
        tl_text_end(&w);
    }
}

/* Figures that are none make the whole unsure, even if the same one comes again. */
static void no_figure(const struct told *t)
{
    static const char *const shown[] = {
        [TL_JSON_NULL] = "null",        [TL_JSON_TRUE] = "true",      [TL_JSON_FALSE] = "false",
        [TL_JSON_OBJECT] = "an object", [TL_JSON_ARRAY] = "an array", [TL_JSON_STRING] = "a text",
    };
    struct tl_text w;

    if (!begin_problem(t->a, t->taken, &w))
        return;
    tl_text_put(&w, t->spot->key);
    tl_text_put(&w, " is no figure: ");
    if (t->event == TL_JSON_NUMBER)
        put_printable(&w, t->text, tl_min(t->length, TL_JSON_TEXT));
    else
        tl_text_put(&w, shown[t->event]);
    tl_text_end(&w);
}

/* ----------------------------------------------------------------------------------------------------------- values */

static bool is_end(const struct told *t)
{
    return t->event == TL_JSON_END || t->event == TL_JSON_CLOSE;
}

/* A whole number that this library can take. Null says nothing; all else is a problem. */
static bool figure(const struct told *t, bool money, uint64_t *out)
{
    if (t->event == TL_JSON_NUMBER && t->length != TL_JSON_LONG &&
        tl_json_whole(t->text, t->length, money ? 9 : 0, money, out) == 0 && *out <= TLSHM_AMOUNT_MAX)
        return true;
    if (t->event != TL_JSON_NULL && !is_end(t))
        no_figure(t);
    return false;
}

/* A text that fits and has no NUL inside; else the place stays as it is. */
static bool copy_text(const struct told *t, char *place, size_t size)
{
    if (t->event != TL_JSON_STRING || t->length == 0 || t->length >= size || memchr(t->text, '\0', t->length))
        return false;
    memcpy(place, t->text, t->length);
    place[t->length] = '\0';
    return true;
}

static void put_figure(const struct told *t, enum tl_slot slot)
{
    struct tl_report *doc = &t->a->doc;
    bool money = slot == TL_SLOT_COST;
    uint64_t value;

    if (money && t->event == TL_JSON_OBJECT)
        return; /* the figure is inside */
    if (t->event == TL_JSON_NULL)
        doc->nulls |= BIT(slot);
    if (!figure(t, money, &value))
        return;
    doc->slot[slot] = value;
    doc->seen |= BIT(slot);
}

static void add_figure(const struct told *t, enum tl_slot slot, uint64_t value)
{
    struct tl_report *doc = &t->a->doc;

    if (value > TLSHM_AMOUNT_MAX - doc->slot[slot]) {
        tl_report_problem(t->a, t->taken, "a sum of figures is out of range");
        return;
    }
    doc->slot[slot] += value;
    doc->seen |= BIT(slot);
}

static void clear_slots(struct tl_report *doc, enum tl_slot first, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        doc->slot[first + i] = 0;
    doc->seen &= ~(tl_ones(n) << first);
}

/* ---------------------------------------------------------------------------------------------------------- entries */

static void begin_list(struct tl_report *doc, unsigned list)
{
    if (list < TL_LIST_WRITES) {
        clear_slots(doc, TL_SLOT_IN_AUDIO + MODALITIES * (list - TL_LIST_IN), MODALITIES);
    } else if (list == TL_LIST_WRITES) {
        clear_slots(doc, TL_SLOT_WRITE_5M, 2);
    } else {
        clear_slots(doc, TL_SLOT_EXTRA_INPUT, 2 * TL_ENTRY_FIGURES);
        doc->seen |= STEPS; /* and so replaces all that an earlier list said */
        doc->other_model[0] = '\0';
        doc->others_differ = false;
    }
}

static void end_modality(const struct told *t, unsigned list)
{
    /* Pages of documents are charged for as images. */
    static const struct {
        const char *name, *number; /* the number of the protocol's enumeration */
        unsigned slot;
    } kinds[] = {{"AUDIO", "4", 0}, {"IMAGE", "2", 1}, {"VIDEO", "3", 2}, {"DOCUMENT", "5", 1}};
    const struct tl_entry *e = &t->a->doc.entry;

    for (unsigned i = 0; i < TL_COUNT_OF(kinds); i++)
        if (strcmp(e->kind, kinds[i].name) == 0 || strcmp(e->kind, kinds[i].number) == 0)
            add_figure(t, TL_SLOT_IN_AUDIO + MODALITIES * (list - TL_LIST_IN) + kinds[i].slot, e->count);
}

static void end_write(const struct told *t)
{
    const struct tl_entry *e = &t->a->doc.entry;

    add_figure(t, strcmp(e->kind, "1h") == 0 ? TL_SLOT_WRITE_1H : TL_SLOT_WRITE_5M, e->count);
}

/* Steps of the kind "message" are in the other figures, those of any other kind are not. */
static void end_step(const struct told *t)
{
    struct tl_report *doc = &t->a->doc;
    const struct tl_entry *e = &doc->entry;
    bool other = e->model[0] != '\0';

    if (e->kind[0] == '\0' || strcmp(e->kind, "message") == 0)
        return;
    for (unsigned i = 0; i < TL_ENTRY_FIGURES; i++)
        if (e->figure[i])
            add_figure(t, (other ? TL_SLOT_OTHER_INPUT : TL_SLOT_EXTRA_INPUT) + i, e->figure[i]);
    if (!other)
        return;
    doc->others_differ |= doc->other_model[0] && strcmp(doc->other_model, e->model) != 0;
    memcpy(doc->other_model, e->model, sizeof doc->other_model);
}

static void tell_list(const struct told *t, unsigned what)
{
    if (what < TL_ENTRY_IN) {
        if (t->event == TL_JSON_ARRAY)
            begin_list(&t->a->doc, what);
    } else if (t->event == TL_JSON_OBJECT) {
        memset(&t->a->doc.entry, 0, sizeof t->a->doc.entry);
    } else if (t->event == TL_JSON_END) {
        if (what == TL_ENTRY_STEP)
            end_step(t);
        else if (what == TL_ENTRY_WRITES)
            end_write(t);
        else
            end_modality(t, what - TL_ENTRY_IN + TL_LIST_IN);
    }
}

/* ----------------------------------------------------------------------------------------------------------- things */

static uint32_t hash_of(const char *text, unsigned length)
{
    uint32_t hash = 2166136261u; /* FNV-1a */

    for (unsigned i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    return hash ? hash : 1;
}

/* Streams name a call again in each of its parts, and some twice in each document. */
static bool is_new(struct tl_known *known, uint32_t id)
{
    for (unsigned i = 0; i < TL_CALL_IDS; i++)
        if (known->call_ids[i] == id)
            return false;
    known->call_ids[known->next_id] = id;
    known->next_id = (uint8_t)((known->next_id + 1) % TL_CALL_IDS);
    return true;
}

static bool kind_ends(const struct tl_entry *e, const char *tail)
{
    size_t length = strlen(e->kind), n = strlen(tail);

    return length >= n && memcmp(e->kind + length - n, tail, n) == 0;
}

static void end_thing(const struct told *t, unsigned what)
{
    struct tl_report *doc = &t->a->doc;
    const struct tl_entry *e = &doc->entry;

    if (what == TL_THING_OUTPUT) {
        doc->outputs += kind_ends(e, "_call");
        doc->output_searches += strcmp(e->kind, "web_search_call") == 0;
        return;
    }
    if (what == TL_THING_CALL && !e->id && !e->has_name)
        return;
    if (what == TL_THING_BLOCK && !kind_ends(e, "tool_use"))
        return;
    if (what == TL_THING_ITEM && (!kind_ends(e, "_call") || !e->id))
        return;
    if (e->id && !is_new(&t->a->known, e->id))
        return;
    if (strcmp(e->kind, "server_tool_use") == 0)
        doc->server_calls++;
    else
        doc->calls++;
}

static void tell_thing(const struct told *t, unsigned what)
{
    if (t->event == TL_JSON_OBJECT)
        memset(&t->a->doc.entry, 0, sizeof t->a->doc.entry);
    else if (t->event == TL_JSON_END)
        end_thing(t, what);
}

static void tell_inside(const struct told *t, unsigned what)
{
    struct tl_entry *e = &t->a->doc.entry;

    switch (what) {
    case TL_OF_COUNT:
        figure(t, false, &e->count);
        break;
    case TL_OF_KIND:
        if (t->event == TL_JSON_NUMBER && t->length == 1)
            e->kind[0] = t->text[0];
        copy_text(t, e->kind, sizeof e->kind);
        break;
    case TL_OF_ID:
        if (t->event == TL_JSON_STRING && t->length)
            e->id = hash_of(t->text, (unsigned)tl_min(t->length, TL_JSON_TEXT));
        break;
    case TL_OF_NAME:
        e->has_name = t->event == TL_JSON_STRING && t->length;
        break;
    case TL_OF_MODEL:
        copy_text(t, e->model, sizeof e->model);
        break;
    default:
        figure(t, false, &e->figure[what - TL_OF_INPUT]);
    }
}

/* -------------------------------------------------------------------------------------------------------- documents */

static void name_error(const struct told *t, enum error_rank rank)
{
    struct tl_report *doc = &t->a->doc;
    unsigned length = (unsigned)tl_min(tl_min(t->length, TL_JSON_TEXT), TLSHM_ANSWER_ERROR_MAX);

    if (t->event == TL_JSON_NUMBER)
        rank = RANK_NUMBER;
    else if (t->event != TL_JSON_STRING)
        return;
    if (length == 0 || memchr(t->text, '\0', length) || (doc->error_rank && doc->error_rank <= rank))
        return;
    memcpy(doc->error, t->text, length);
    doc->error[length] = '\0';
    doc->error_rank = (uint8_t)rank;
}

static void tell_document(const struct told *t)
{
    struct tl_account *a = t->a;

    if (t->event == TL_JSON_OBJECT) {
        memset(&a->doc, 0, sizeof a->doc);
        a->doc.base = t->taken;
        a->doc.open = true;
    } else if (t->event == TL_JSON_END) {
        a->doc.base = t->taken;
        a->doc.open = false;
        a->doc.ready = true;
        if (!a->waits)
            tl_report_merge(a);
    }
}

static void tell_type(const struct told *t)
{
    char type[TL_JSON_TEXT + 1];

    if (copy_text(t, type, sizeof type))
        t->a->doc.type |= (uint8_t)tl_shapes_type(type);
}

static void tell_error(const struct told *t)
{
    if (t->event == TL_JSON_OBJECT || t->event == TL_JSON_STRING)
        t->a->doc.is_error = true;
}

static void tell_rest(const struct told *t, unsigned what)
{
    struct tl_report *doc = &t->a->doc;
    uint64_t value;

    switch (what) {
    case TL_DOCUMENT:
        tell_document(t);
        break;
    case TL_TYPE:
        tell_type(t);
        break;
    case TL_MODEL:
        copy_text(t, doc->model, sizeof doc->model);
        break;
    case TL_FINISH: /* some serialise enumerations as numbers */
        doc->finish |= (t->event == TL_JSON_STRING && t->length) || t->event == TL_JSON_NUMBER;
        break;
    case TL_LAST:
        doc->last |= t->event == TL_JSON_TRUE;
        break;
    case TL_ERROR:
        tell_error(t);
        break;
    case TL_ERROR_CODE:
    case TL_ERROR_STATUS:
    case TL_ERROR_TYPE:
        name_error(t, RANK_CODE + (what - TL_ERROR_CODE));
        break;
    case TL_CALL:
        doc->calls += t->event == TL_JSON_OBJECT;
        break;
    case TL_OMITS_ZEROS:
        doc->omits_zeros = true;
        break;
    case TL_METRICS:
        doc->last = true;
        break;
    case TL_RESULTS:
        if (t->event == TL_JSON_ARRAY)
            clear_slots(doc, TL_SLOT_METER_OUTPUT, 1);
        break;
    default: /* TL_RESULT */
        if (figure(t, false, &value))
            add_figure(t, TL_SLOT_METER_OUTPUT, value);
    }
}

void tl_report_tell(struct tl_account *a, uint64_t taken, const struct tl_json_spot *spot, enum tl_json_event event,
                    const char *text, unsigned length)
{
    struct told t = {a, taken, spot, event, text, length};
    unsigned what = spot->what;

    if (what < TL_SLOTS)
        put_figure(&t, what);
    else if (what < TL_LIST_IN)
        tell_rest(&t, what);
    else if (what < TL_THING_CALL)
        tell_list(&t, what);
    else if (what < TL_OF_COUNT)
        tell_thing(&t, what);
    else
        tell_inside(&t, what);
}

/* ---------------------------------------------------------------------------------------------------------- merging */

static void merge_figures(struct tl_known *known, const struct tl_report *doc)
{
    bool patch = doc->open || doc->type & TL_TYPE_PATCH;

    if (!patch && doc->seen & CORE) {
        known->seen &= METER;
        known->nulls = 0;
    }
    for (unsigned i = 0; i < TL_SLOTS; i++)
        if (doc->seen & BIT(i))
            known->slot[i] = doc->slot[i];
    known->seen |= doc->seen;
    known->nulls = (known->nulls | doc->nulls) & ~doc->seen;
}

static void merge_models(struct tl_known *known, const struct tl_report *doc)
{
    if (doc->model[0])
        memcpy(known->model, doc->model, sizeof known->model);
    if (doc->seen & STEPS)
        memcpy(known->other_model, doc->other_model, sizeof known->other_model);
    if (doc->others_differ)
        known->other_model[0] = '\0';
}

static void merge_progress(struct tl_known *known, const struct tl_report *doc)
{
    bool tells = doc->seen & CORE;

    known->documents++;
    known->stream |= doc->type & TL_TYPE_STREAM || known->documents > 1;
    known->finished |= doc->finish;
    if (tells)
        known->settled = known->finished;
    else if (doc->finish)
        known->settled = false;
    known->ended |= doc->last || doc->type & TL_TYPE_END || (tells && doc->type & TL_TYPE_FINAL);
    known->omits_zeros |= doc->omits_zeros;
}

void tl_report_merge(struct tl_account *a)
{
    struct tl_known *known = &a->known;
    struct tl_report *doc = &a->doc;

    if (!doc->open && !doc->ready)
        return;
    merge_figures(known, doc);
    merge_models(known, doc);
    merge_progress(known, doc);
    if (doc->is_error || doc->type & TL_TYPE_ERROR) {
        known->error_documents += !(doc->seen & (CORE | METER)) && !doc->finish;
        tl_report_error(a, doc->error);
    }
    known->calls += doc->calls;
    known->server_calls += doc->server_calls;
    known->outputs = (uint32_t)tl_max(known->outputs, doc->outputs);
    known->output_searches = (uint32_t)tl_max(known->output_searches, doc->output_searches);
    doc->open = doc->ready = false;
}

void tl_report_drop(struct tl_account *a)
{
    a->doc.open = a->doc.ready = false;
}

void tl_report_error(struct tl_account *a, const char *name)
{
    struct tl_text w = {a->known.error, sizeof a->known.error, 0};

    tl_text_put(&w, name[0] ? name : "error");
    tl_text_end(&w);
}
