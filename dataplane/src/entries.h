/* What the control plane writes into a program: entries of tables, and registers. */
#ifndef ENTRIES_H
#define ENTRIES_H

#include "spec.h"

enum entry_kind { ENTRY_TABLE, ENTRY_DEFAULT, ENTRY_REGISTER };

struct entry {
    unsigned line;
    enum entry_kind kind;
    int part;                    /* Index of the table or of the register array. */
    uint64_t index, value;       /* Of a register. */
    char text[INSTRUCTION_SIZE]; /* Of a table's entry, as SWX is told it: match VALUES action NAME ARGUMENTS.
                                  */
};

struct entries {
    struct entry *entries;
    unsigned count;
};

/* Reads lines `table NAME match VALUES action NAME [FIELD VALUE ...]`, `default NAME action NAME [...]` and
 * `register NAME INDEX VALUE` for a program that has been checked. Returns 0, or -1. Free it in either case.
 */
int entries_parse(struct entries *entries, const struct spec *spec, const char *text, size_t length,
                  struct mistake *mistake);

void entries_free(struct entries *entries);

#endif
