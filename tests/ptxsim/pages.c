/* Granules of global memory by address: a hash table of pages, as kernels touch few places of a large memory. */
#include <stdlib.h>
#include <string.h>

#include "tests/ptxsim/sim.h"

enum { FIRST_SIZE = 64 };

typedef struct ps_page {
    uint64_t number; /* of the page, plus 1; 0: free */
    void *granules;  /* PS_PAGE_GRANULES, kept when the page is free */
} ps_page;

static ps_page *slot_of(ps_pages *pages, uint64_t number)
{
    size_t i = (size_t)((number * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (pages->size - 1);
    while (pages->list[i].number && pages->list[i].number != number + 1)
        i = (i + 1) & (pages->size - 1);
    return &pages->list[i];
}

static void grow(ps_pages *pages)
{
    ps_page *old = pages->list;
    size_t old_size = pages->size, spare = 0;
    pages->size = old_size ? old_size * 2 : FIRST_SIZE;
    pages->list = ps_alloc(pages->size, sizeof *pages->list);
    for (size_t i = 0; i < old_size; i++)
        if (old[i].number)
            *slot_of(pages, old[i].number - 1) = old[i];
    for (size_t i = 0; i < old_size; i++) /* granules of free pages go to other free ones */
        if (!old[i].number && old[i].granules) {
            while (pages->list[spare].granules)
                spare++;
            pages->list[spare].granules = old[i].granules;
        }
    free(old);
}

void *ps_page_of(ps_pages *pages, uint64_t number)
{
    if (pages->count * 2 >= pages->size)
        grow(pages);
    ps_page *page = slot_of(pages, number);
    if (!page->number) {
        page->number = number + 1;
        pages->count++;
        if (page->granules)
            memset(page->granules, 0, PS_PAGE_GRANULES * pages->bytes);
        else
            page->granules = ps_alloc(PS_PAGE_GRANULES, pages->bytes);
    }
    return page->granules;
}

void ps_pages_clear(ps_pages *pages)
{
    for (size_t i = 0; i < pages->size; i++)
        pages->list[i].number = 0;
    pages->count = 0;
}

void ps_pages_release(ps_pages *pages)
{
    for (size_t i = 0; i < pages->size; i++)
        free(pages->list[i].granules);
    free(pages->list);
    *pages = (ps_pages){.bytes = pages->bytes};
}
