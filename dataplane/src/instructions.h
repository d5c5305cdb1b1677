/* Instructions of SWX that a program may have. */
#ifndef INSTRUCTIONS_H
#define INSTRUCTIONS_H

/* What an operand is. */
enum operand {
    NONE,
    HEADER,      /* h.header */
    METADATA,    /* m.field */
    DESTINATION, /* h.header.field, m.field */
    CHECKSUM,    /* h.header.field of 16 bits */
    FIELD,       /* those, t.field */
    SOURCE,      /* those, a number */
    REGISTER,
    TABLE,
    ACTION,
    LABEL,
};

/* Where an instruction may stand. */
enum place { IN_APPLY = 1, IN_ACTION = 2, ANYWHERE = 3 };

struct form {
    char operation[16];
    enum place place;
    enum operand operands[3];
};

extern const struct form forms[];
extern const unsigned form_count;

/* The form of an operation, or NULL. */
const struct form *find_form(const char *operation);

#endif
