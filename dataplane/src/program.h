/* A program's file and the control plane's entries for it. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include "entries.h"
#include "spec.h"

struct program {
    struct spec spec;
    struct entries entries;
};

/* Reads both files (`entries` may be NULL) and checks them; says on stderr what is wrong. Returns 0, or -1.
 */
int program_load(struct program *program, const char *spec, const char *entries);

void program_free(struct program *program);

/* Says on stderr `error: file:line: text`. */
void complain(const char *file, const struct mistake *mistake);

#endif
