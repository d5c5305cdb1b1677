/* Parts of a program by name. */
#include <string.h>

#include "spec.h"

int spec_struct(const struct spec *spec, const char *name) {
    for (unsigned i = 0; i < spec->struct_count; i++)
        if (strcmp(spec->structs[i].name, name) == 0)
            return (int)i;
    return -1;
}

int spec_header(const struct spec *spec, const char *name) {
    for (unsigned i = 0; i < spec->header_count; i++)
        if (strcmp(spec->headers[i].name, name) == 0)
            return (int)i;
    return -1;
}

int spec_action(const struct spec *spec, const char *name) {
    for (unsigned i = 0; i < spec->action_count; i++)
        if (strcmp(spec->actions[i].name, name) == 0)
            return (int)i;
    return -1;
}

int spec_table(const struct spec *spec, const char *name) {
    for (unsigned i = 0; i < spec->table_count; i++)
        if (strcmp(spec->tables[i].name, name) == 0)
            return (int)i;
    return -1;
}

int spec_register(const struct spec *spec, const char *name) {
    for (unsigned i = 0; i < spec->register_count; i++)
        if (strcmp(spec->registers[i].name, name) == 0)
            return (int)i;
    return -1;
}

unsigned spec_field_bits(const struct spec *spec, const struct action *action, const char *operand) {
    int type = -1;
    const char *field = operand + 2;
    if (strncmp(operand, "m.", 2) == 0)
        type = spec->metadata;
    else if (strncmp(operand, "t.", 2) == 0)
        type = action == NULL ? -1 : action->arguments;
    else if (strncmp(operand, "h.", 2) == 0) {
        char header[NAME_SIZE];
        const char *dot = strchr(field, '.');
        if (dot == NULL || dot - field >= NAME_SIZE)
            return 0;
        memcpy(header, field, (size_t)(dot - field));
        header[dot - field] = '\0';
        int index = spec_header(spec, header);
        type = index < 0 ? -1 : spec->headers[index].type;
        field = dot + 1;
    }
    if (type < 0)
        return 0;
    for (unsigned i = 0; i < spec->structs[type].field_count; i++)
        if (strcmp(spec->structs[type].fields[i].name, field) == 0)
            return spec->structs[type].fields[i].bits;
    return 0;
}
