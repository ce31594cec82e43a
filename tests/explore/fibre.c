/* SPDX-License-Identifier: MIT */
/* fibre.c - stacks, jumps between them, and which accesses are steps. */
#include "fibre.h"

#include <setjmp.h>
#include <ucontext.h>

#include "world.h"

#define STACK (192 * 1024)
#define HARNESS_PATIENCE 100000 /* accesses of the harness between two steps; a sound segment needs a few hundred */

static struct fibre {
    ucontext_t first; /* only to get onto the stack once */
    jmp_buf entry;    /* where each schedule begins */
    jmp_buf here;     /* where it stands */
    bool entered, started;
    enum tl_access access;
    const volatile void *address;
    const volatile void *block; /* the node whose words it is copying, ... */
    enum tl_access block_access;
    alignas(16) unsigned char stack[STACK];
} fibres[FIBRES];

static jmp_buf scheduler;
static unsigned running = NO_FIBRE;
static bool quiet;
static void (*work)(unsigned fibre);
static void (*gives_up)(void);
static unsigned looks;

bool every_word;

/* The start of every fibre. It never returns: the scheduler takes over at the end of the work. */
static void live(int fibre)
{
    (void)_setjmp(fibres[fibre].entry);
    work(running);
    _longjmp(scheduler, 2);
}

static void enter(struct fibre *f, unsigned fibre)
{
    f->entered = true;
    getcontext(&f->first);
    f->first.uc_stack.ss_sp = f->stack;
    f->first.uc_stack.ss_size = STACK;
    f->first.uc_link = NULL;
    makecontext(&f->first, (void (*)(void))(void *)live, 1, (int)fibre);
    setcontext(&f->first);
}

void fibre_begin(void (*body)(unsigned fibre))
{
    work = body;
    looks = 0;
    for (unsigned i = 0; i < FIBRES; i++) {
        fibres[i].started = false;
        fibres[i].address = NULL;
        fibres[i].block = NULL;
        fibres[i].access = TL_READ;
    }
}

bool fibre_step(unsigned fibre)
{
    running = fibre;
    int came = _setjmp(scheduler);
    if (came == 0) {
        struct fibre *f = &fibres[running];
        if (f->started)
            _longjmp(f->here, 1);
        f->started = true;
        if (f->entered)
            _longjmp(f->entry, 1);
        enter(f, running);
    }
    running = NO_FIBRE;
    looks = 0;
    return came == 1;
}

unsigned fibre_running(void)
{
    return running;
}

void fibre_quiet(bool on)
{
    quiet = on;
}

const volatile void *fibre_address(unsigned fibre)
{
    return fibres[fibre].address;
}

enum tl_access fibre_access(unsigned fibre)
{
    return fibres[fibre].access;
}

void fibre_watch(void (*give_up)(void))
{
    gives_up = give_up;
    looks = 0;
}

/* ------------------------------------------------------------------------------------------------ what is a step */

/*
 * One node is copied in one step, unless every word counts. Reading its ref is a step of its own: what is copied is
 * believed because of it.
 */
static bool goes_on_copying(struct fibre *f, enum tl_access access, const volatile void *address)
{
    bool first;
    const volatile void *node = world_node(address, &first);
    bool same = node != NULL && node == f->block && access == f->block_access;
    f->block = node == NULL || (first && access != TL_WRITE) ? NULL : node;
    f->block_access = access;
    return same && !every_word;
}

/* Wall and boot clock are moved together, so they are read in one step. */
static bool is_still(const struct fibre *f, const volatile void *address)
{
    const struct shm_header *header = world.map.header;
    bool again = address == &header->virtual_boot && f->address == &header->virtual_wall;
    bool late = address == &world.late_clock && f->address == address;
    return address == &header->virtual_wall || again || late || world_untouched(address);
}

static void stand_before(enum tl_access access, const volatile void *address)
{
    struct fibre *f = &fibres[running];
    if (world_private(address)) /* a view's own copy */
        return;
    bool still = is_still(f, address);
    f->address = address;
    if (still || goes_on_copying(f, access, address))
        return;
    f->access = access;
    if (_setjmp(f->here) == 0)
        _longjmp(scheduler, 1);
}

void tl_hook(enum tl_access access, const volatile void *address)
{
    if (running != NO_FIBRE && !quiet)
        stand_before(access, address);
    else if (gives_up && ++looks > HARNESS_PATIENCE)
        gives_up();
}

void every_hook(enum tl_access access, const volatile void *address)
{
    if (running != NO_FIBRE && !quiet && (every_word || world_in_lists(address)))
        stand_before(access, address);
}
