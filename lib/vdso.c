/* SPDX-License-Identifier: MIT */
/* vdso.c - looks the kernel's function up in the object that it maps. See vdso(7), elf(5). */
#include "vdso.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

#if defined(__aarch64__)
#define CLOCK_NAME "__kernel_clock_gettime"
#else
#define CLOCK_NAME "__vdso_clock_gettime"
#endif

/* What is needed of the object. */
struct object {
    uintptr_t base; /* what addresses in it are relative to */
    const ElfW(Dyn) * dynamic;
    const ElfW(Sym) * symbols;
    const char *names;
    size_t count; /* of symbols */
};

static bool read_header(const ElfW(Ehdr) * header, struct object *o)
{
    const ElfW(Phdr) *part = (const void *)((const char *)header + header->e_phoff);
    bool loaded = false;
    for (unsigned i = 0; i < header->e_phnum; i++) {
        if (part[i].p_type == PT_LOAD && !loaded) {
            o->base = (uintptr_t)header + part[i].p_offset - part[i].p_vaddr;
            loaded = true;
        }
        if (part[i].p_type == PT_DYNAMIC)
            o->dynamic = (const void *)((const char *)header + part[i].p_offset);
    }
    return loaded && o->dynamic;
}

static bool read_dynamic(struct object *o)
{
    for (const ElfW(Dyn) *d = o->dynamic; d->d_tag != DT_NULL; d++) {
        const void *at = (const void *)(o->base + d->d_un.d_ptr);
        if (d->d_tag == DT_SYMTAB)
            o->symbols = at;
        else if (d->d_tag == DT_STRTAB)
            o->names = at;
        else if (d->d_tag == DT_HASH)
            o->count = ((const ElfW(Word) *)at)[1];
    }
    return o->symbols && o->names && o->count;
}

tl_vdso_clock tl_vdso_find_clock(void)
{
    const void *header = (const void *)getauxval(AT_SYSINFO_EHDR);
    struct object o = {0};
    if (!header || !read_header(header, &o) || !read_dynamic(&o))
        return clock_gettime;
    for (size_t i = 0; i < o.count; i++) {
        const ElfW(Sym) *s = &o.symbols[i];
        if (s->st_shndx != SHN_UNDEF && strcmp(o.names + s->st_name, CLOCK_NAME) == 0)
            return (tl_vdso_clock)(o.base + s->st_value);
    }
    return clock_gettime;
}
