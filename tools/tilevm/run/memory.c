/* Pieces of memory, saved and put back. */
#include "tools/tilevm/run/memory.h"

#include <stdlib.h>
#include <string.h>

static bool is_known(const run_memory *memory, const arg_storage *storage)
{
    for (size_t i = 0; i < memory->count; i++)
        if (memory->pieces[i] == storage)
            return true;
    return false;
}

bool run_memory_collect(bc_arena *arena, const arg_set *set, run_memory *out)
{
    size_t arrays = 0;
    for (size_t i = 0; i < set->count; i++)
        arrays += set->values[i].array_count;
    *out = (run_memory){.pieces = bc_new(arena, arg_storage *, arrays)};
    if (!out->pieces)
        return false;
    for (size_t i = 0; i < set->count; i++)
        for (size_t k = 0; k < set->values[i].array_count; k++) {
            arg_storage *storage = set->values[i].arrays[k].storage;
            if (storage && !is_known(out, storage))
                out->pieces[out->count++] = storage;
        }
    return true;
}

size_t run_memory_place(const run_memory *memory, const arg_array *array)
{
    size_t place = 0;
    while (memory->pieces[place] != array->storage)
        place++;
    return place;
}

bool run_memory_save(const run_memory *memory, run_copy *out)
{
    *out = (run_copy){.blocks = calloc(memory->count + 1, sizeof *out->blocks), .count = memory->count};
    for (size_t i = 0; out->blocks && i < memory->count; i++) {
        out->blocks[i] = malloc(memory->pieces[i]->block_size);
        if (!out->blocks[i])
            return false;
        memcpy(out->blocks[i], memory->pieces[i]->block, memory->pieces[i]->block_size);
    }
    return out->blocks != NULL;
}

void run_memory_restore(const run_memory *memory, const run_copy *copy)
{
    for (size_t i = 0; i < memory->count; i++)
        memcpy(memory->pieces[i]->block, copy->blocks[i], memory->pieces[i]->block_size);
}

void run_copy_free(run_copy *copy)
{
    for (size_t i = 0; copy->blocks && i < copy->count; i++)
        free(copy->blocks[i]);
    free(copy->blocks);
    *copy = (run_copy){0};
}

arg_array run_copy_array(const run_memory *memory, const run_copy *copy, const arg_array *array)
{
    arg_array view = *array;
    size_t place = run_memory_place(memory, array);
    view.first = copy->blocks[place] + (array->first - array->storage->block);
    return view;
}
