/* The parts of the matrix; each counts what it tried. */
#ifndef TILEVM_TESTS_MATRIX_PARTS_H
#define TILEVM_TESTS_MATRIX_PARTS_H

#include "tests/matrix/kernel.h"

void mx_arith(mx_report *r, mx_effort effort);
void mx_convert(mx_report *r, mx_effort effort);
void mx_functions(mx_report *r, mx_effort effort);
void mx_move(mx_report *r, mx_effort effort);
void mx_views(mx_report *r, mx_effort effort);
void mx_memory(mx_report *r, mx_effort effort);
void mx_aggregate(mx_report *r, mx_effort effort);
void mx_mma(mx_report *r, mx_effort effort);
void mx_control(mx_report *r, mx_effort effort);
void mx_fuse(mx_report *r, mx_effort effort);
void mx_print(mx_report *r, mx_effort effort);
void mx_coverage(mx_report *r, mx_effort effort);

/* Prints the largest distance of functions from their exact values, over `count` operands of each. */
void mx_functions_measure(uint64_t count);

#endif
