#ifndef RESOURCES_H
#define RESOURCES_H

#include "program.h"

/* Prints what a program takes of a switch, as a table in Markdown. Returns 0, or -1 if it does what a switch
 * cannot: jumps over a table, touches a register from two tables or twice on one way through an action. */
int resources(const char *file, const struct program *program);

#endif
