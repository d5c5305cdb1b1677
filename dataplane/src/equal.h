#ifndef EQUAL_H
#define EQUAL_H

/* Sends a recorded sequence through a program as real packets and compares every mark with the state
 * machine's. Prints what came out. Returns 0 if all is as it should be, 1 if not, 2 if it could not be tried.
 */
int equal(const char *spec, const char *entries, const char *sequence);

#endif
