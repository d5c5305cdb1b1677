/* What a port supplies to the program, and the program to the port. */
#ifndef PORT_H
#define PORT_H

/* Shows a text that ends with a zero. */
void put(const char *text);
/* Ends the program. */
_Noreturn void stop(int status);
/* The program; a port calls it once. */
void program(void);

#endif
