/* A pipeline program as its text says it: the language of DPDK's SWX pipeline (`.spec`). */
#ifndef SPEC_H
#define SPEC_H

#include <stdint.h>
#include <stdio.h>

/* Names as SWX takes them: at most 63 characters. */
#define NAME_SIZE 64
/* An operand: `h.header.field` of two names. */
#define OPERAND_SIZE 132
#define OPERANDS_MAX 3
#define INSTRUCTION_SIZE 256

/* What is wrong with a text, and where. */
struct mistake {
    unsigned line; /* From 1; 0: the text as a whole. */
    char text[400];
};

struct field {
    char name[NAME_SIZE];
    unsigned bits;
};

struct struct_type {
    char name[NAME_SIZE];
    unsigned line;
    struct field *fields;
    unsigned field_count;
};

struct header {
    char name[NAME_SIZE];
    unsigned line;
    int type; /* Index of its struct. */
};

struct instruction {
    unsigned line;
    char label[NAME_SIZE]; /* Empty: none. */
    char operation[NAME_SIZE];
    char operands[OPERANDS_MAX][OPERAND_SIZE];
    unsigned operand_count;
    char text[INSTRUCTION_SIZE]; /* As SWX is told it. */
};

struct code {
    struct instruction *instructions;
    unsigned count;
};

struct action {
    char name[NAME_SIZE];
    unsigned line;
    int arguments; /* Index of a struct, or -1. */
    struct code code;
};

enum match { MATCH_EXACT, MATCH_WILDCARD };

struct key {
    char field[OPERAND_SIZE];
    enum match match;
    unsigned line;
};

struct table {
    char name[NAME_SIZE];
    unsigned line;
    struct key *keys;
    unsigned key_count;
    int *actions; /* Indices. */
    unsigned action_count;
    int default_action;                       /* Index of an action. */
    char default_arguments[INSTRUCTION_SIZE]; /* Names and values; empty: none. */
    int default_is_const;
    uint32_t size;
};

struct register_array {
    char name[NAME_SIZE];
    unsigned line;
    uint32_t size;
    uint64_t initial;
};

struct spec {
    struct struct_type *structs;
    unsigned struct_count;
    struct header *headers;
    unsigned header_count;
    int metadata; /* Index of a struct, or -1. */
    struct action *actions;
    unsigned action_count;
    struct table *tables;
    unsigned table_count;
    struct register_array *registers;
    unsigned register_count;
    struct code apply;
    unsigned apply_line; /* 0: there is none. */
};

/* Reads a program. Returns 0, or -1 with what is wrong. Free it in either case. */
int spec_parse(struct spec *spec, const char *text, size_t length, struct mistake *mistake);

/* Whether names, operands, widths and jumps are right; after spec_parse. */
int spec_check(const struct spec *spec, struct mistake *mistake);

/* Whether `text`, names and values in turn, are the arguments of an action. */
int check_arguments(const struct spec *spec, const struct action *action, const char *text, unsigned line,
                    struct mistake *mistake);

void spec_free(struct spec *spec);

/* Indices by name, or -1. */
int spec_struct(const struct spec *spec, const char *name);
int spec_header(const struct spec *spec, const char *name);
int spec_action(const struct spec *spec, const char *name);
int spec_table(const struct spec *spec, const char *name);
int spec_register(const struct spec *spec, const char *name);

/* Width in bits of `h.header.field`, `m.field` or, in an action with arguments, `t.field`; 0: no such field.
 */
unsigned spec_field_bits(const struct spec *spec, const struct action *action, const char *operand);

/* Fails with a text; always -1. */
int fail(struct mistake *mistake, unsigned line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A whole number: decimal, or hexadecimal after 0x. Returns 0, or -1. */
int read_number(const char *text, uint64_t *value);

/* The one of `count` names, each `stride` bytes after the one before, that `name` may be meant for, or NULL.
 */
const char *nearest(const char *name, const char *names, unsigned count, size_t stride);

#endif
