#include "program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* No program and no control plane writes more. */
#define FILE_MOST (64u << 20)

void complain(const char *file, const struct mistake *mistake) {
    if (mistake->line > 0)
        fprintf(stderr, "error: %s:%u: %s\n", file, mistake->line, mistake->text);
    else
        fprintf(stderr, "error: %s: %s\n", file, mistake->text);
}

static char *read_file(const char *path, size_t *length, struct mistake *mistake) {
    FILE *file = fopen(path, "rb");
    char *text = malloc(FILE_MOST);
    if (file == NULL || text == NULL) {
        fail(mistake, 0, "cannot be read: %s", strerror(errno));
        goto failed;
    }
    *length = fread(text, 1, FILE_MOST, file);
    if (ferror(file) || *length == FILE_MOST) {
        fail(mistake, 0, "cannot be read: %s", ferror(file) ? strerror(errno) : "it is too long");
        goto failed;
    }
    fclose(file);
    return text;
failed:
    if (file != NULL)
        fclose(file);
    free(text);
    return NULL;
}

int program_load(struct program *program, const char *spec, const char *entries) {
    struct mistake mistake;
    size_t length;
    char *text;
    memset(program, 0, sizeof *program);
    text = read_file(spec, &length, &mistake);
    if (text == NULL || spec_parse(&program->spec, text, length, &mistake) < 0 ||
        spec_check(&program->spec, &mistake) < 0) {
        complain(spec, &mistake);
        free(text);
        return -1;
    }
    free(text);
    if (entries == NULL)
        return 0;
    text = read_file(entries, &length, &mistake);
    if (text == NULL || entries_parse(&program->entries, &program->spec, text, length, &mistake) < 0) {
        complain(entries, &mistake);
        free(text);
        return -1;
    }
    free(text);
    return 0;
}

void program_free(struct program *program) {
    spec_free(&program->spec);
    entries_free(&program->entries);
}
