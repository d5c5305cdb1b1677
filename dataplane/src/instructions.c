#include <string.h>

#include "instructions.h"

const struct form forms[] = {
    {"rx", IN_APPLY, {METADATA, NONE, NONE}},
    {"tx", IN_APPLY, {METADATA, NONE, NONE}},
    {"extract", IN_APPLY, {HEADER, NONE, NONE}},
    {"emit", IN_APPLY, {HEADER, NONE, NONE}},
    {"validate", ANYWHERE, {HEADER, NONE, NONE}},
    {"invalidate", ANYWHERE, {HEADER, NONE, NONE}},
    {"mov", ANYWHERE, {DESTINATION, SOURCE, NONE}},
    {"add", ANYWHERE, {DESTINATION, SOURCE, NONE}},
    {"sub", ANYWHERE, {DESTINATION, SOURCE, NONE}},
    {"and", ANYWHERE, {DESTINATION, SOURCE, NONE}},
    {"or", ANYWHERE, {DESTINATION, SOURCE, NONE}},
    {"xor", ANYWHERE, {DESTINATION, SOURCE, NONE}},
    {"shl", ANYWHERE, {DESTINATION, SOURCE, NONE}},
    {"shr", ANYWHERE, {DESTINATION, SOURCE, NONE}},
    {"ckadd", ANYWHERE, {CHECKSUM, FIELD, NONE}},
    {"cksub", ANYWHERE, {CHECKSUM, FIELD, NONE}},
    {"regrd", ANYWHERE, {DESTINATION, REGISTER, SOURCE}},
    {"regwr", ANYWHERE, {REGISTER, SOURCE, SOURCE}},
    {"regadd", ANYWHERE, {REGISTER, SOURCE, SOURCE}},
    {"table", IN_APPLY, {TABLE, NONE, NONE}},
    {"jmp", ANYWHERE, {LABEL, NONE, NONE}},
    {"jmpv", ANYWHERE, {LABEL, HEADER, NONE}},
    {"jmpnv", ANYWHERE, {LABEL, HEADER, NONE}},
    {"jmph", IN_APPLY, {LABEL, NONE, NONE}},
    {"jmpnh", IN_APPLY, {LABEL, NONE, NONE}},
    {"jmpa", IN_APPLY, {LABEL, ACTION, NONE}},
    {"jmpna", IN_APPLY, {LABEL, ACTION, NONE}},
    {"jmpeq", ANYWHERE, {LABEL, FIELD, SOURCE}},
    {"jmpneq", ANYWHERE, {LABEL, FIELD, SOURCE}},
    {"jmplt", ANYWHERE, {LABEL, FIELD, SOURCE}},
    {"jmpgt", ANYWHERE, {LABEL, FIELD, SOURCE}},
    {"return", IN_ACTION, {NONE, NONE, NONE}},
};
const unsigned form_count = sizeof forms / sizeof *forms;

const struct form *find_form(const char *operation) {
    for (unsigned i = 0; i < form_count; i++)
        if (strcmp(forms[i].operation, operation) == 0)
            return &forms[i];
    return NULL;
}
