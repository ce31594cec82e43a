/* SPDX-License-Identifier: MIT */
/* view.c - private copies of cells' states. See view.h. */
#include "view.h"

void tl_view_own_balance(struct tl_view *view, const tl_word *balance)
{
    tl_view_copy_words(view->own_balance, balance, SHM_NARROW_WORDS);
    if (view->wide)
        tl_view_copy_words(view->own_balance + SHM_SECOND, balance + SHM_SECOND, SHM_NARROW_WORDS);
    view->balance = view->own_balance;
}

TL_COLD void tl_view_own(struct tl_view *view)
{
    if (view->balance != view->own_balance)
        tl_view_own_balance(view, view->balance);
    if (view->window != view->own_window)
        tl_view_copy_words(&view->own_window[0].shape, &view->window[0].shape, view->windows * SHM_WINDOW_WORDS);
    view->window = view->own_window;
}

TL_COLD void tl_view_clone(struct tl_view *to, const struct tl_view *from)
{
    memcpy((void *)to, (const void *)from, sizeof *to);
    if (from->balance == from->own_balance)
        to->balance = to->own_balance;
    if (from->window == from->own_window)
        to->window = to->own_window;
    tl_view_own(to);
}
