/* What reading texts needs: mistakes, numbers, and what a wrong name may be meant for. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "spec.h"

int fail(struct mistake *mistake, unsigned line, const char *format, ...) {
    va_list arguments;
    mistake->line = line;
    va_start(arguments, format);
    vsnprintf(mistake->text, sizeof mistake->text, format, arguments);
    va_end(arguments);
    return -1;
}

int read_number(const char *text, uint64_t *value) {
    char *end;
    if (text[0] < '0' || text[0] > '9')
        return -1;
    /* Nothing octal: SWX would read 010 as 8. */
    if (text[0] == '0' && text[1] >= '0' && text[1] <= '9')
        return -1;
    errno = 0;
    *value = strtoull(text, &end, 0);
    return errno != 0 || *end != '\0' ? -1 : 0;
}

/* How many characters must be put in, left out or changed. */
static unsigned distance(const char *a, const char *b) {
    unsigned row[OPERAND_SIZE + 1];
    size_t length = strlen(b);
    if (length > OPERAND_SIZE)
        return OPERAND_SIZE;
    for (size_t j = 0; j <= length; j++)
        row[j] = (unsigned)j;
    for (size_t i = 0; a[i] != '\0'; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i + 1;
        for (size_t j = 0; j < length; j++) {
            unsigned change = diagonal + (a[i] != b[j]);
            unsigned other = (row[j] < row[j + 1] ? row[j] : row[j + 1]) + 1;
            diagonal = row[j + 1];
            row[j + 1] = change < other ? change : other;
        }
    }
    return row[length];
}

const char *nearest(const char *name, const char *names, unsigned count, size_t stride) {
    const char *best = NULL;
    unsigned least = (unsigned)strlen(name) / 3 + 1;
    for (unsigned i = 0; i < count; i++) {
        unsigned far = distance(name, names + i * stride);
        if (far <= least && (best == NULL || far < least)) {
            least = far;
            best = names + i * stride;
        }
    }
    return best;
}
