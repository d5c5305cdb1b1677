/* `swx-check`: what can be said of programs without DPDK. */
#include <stdio.h>
#include <string.h>

#include "program.h"
#include "resources.h"

static const char USAGE[] =
    "swx-check PROGRAM [ENTRIES]            whether a program and its entries are right\n"
    "swx-check resources PROGRAM ENTRIES    what it takes of a switch\n";

int main(int count, char **words) {
    struct program program = {0};
    int of_resources = count == 4 && strcmp(words[1], "resources") == 0, result;
    if (!of_resources && (count < 2 || count > 3 || words[1][0] == '-')) {
        fputs(USAGE, stderr);
        return 2;
    }
    char **files = words + (of_resources ? 2 : 1);
    result = program_load(&program, files[0], files[1]);
    if (result == 0 && of_resources)
        result = resources(files[0], &program);
    else if (result == 0)
        printf("%s: %u headers, %u registers, %u tables, %u actions, %u instructions\n", files[0],
               program.spec.header_count, program.spec.register_count, program.spec.table_count,
               program.spec.action_count, program.spec.apply.count);
    program_free(&program);
    return result == 0 ? 0 : 1;
}
