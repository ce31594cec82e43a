/* SPDX-License-Identifier: MIT */
/* error.c - names and texts of the errors. */
#include <tlshm/error.h>

const char *tlshm_error_name(int code)
{
    if (code >= 0)
        return "OK";
    switch (-code) {
#define X(name, number, text)                                                                                          \
    case number:                                                                                                       \
        return #name;
        TLSHM_ERRORS(X)
#undef X
    default:
        return "E?";
    }
}

const char *tlshm_error_text(int code)
{
    if (code >= 0)
        return "success";
    switch (-code) {
#define X(name, number, text)                                                                                          \
    case number:                                                                                                       \
        return text;
        TLSHM_ERRORS(X)
#undef X
    default:
        return "unknown error";
    }
}
