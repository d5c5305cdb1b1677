/* Port to Linux on x86-64 without a C library, to try the program at a desk: two system calls.
 *
 *   cc -std=c11 -Os -ffreestanding -fno-stack-protector -nostdlib -static -I ../../include -Wl,--gc-sections \
 *     pcn.c linux_x86_64.c ../../../../target/x86_64-unknown-linux-gnu/firmware/libunpause_c.a -o pcn */
#include "port.h"

#include <stddef.h>

enum { WRITE = 1, EXIT = 60, STDOUT = 1 };

static long call(long number, long a, long b, long c) {
  long answer;
  __asm__ volatile("syscall" : "=a"(answer) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return answer;
}

void put(const char *text) {
  size_t length = 0;
  while (text[length]) length++;
  call(WRITE, STDOUT, (long)text, (long)length);
}

_Noreturn void stop(int status) {
  for (;;) call(EXIT, status, 0, 0);
}

/* What compilers call without being asked. */
void *memcpy(void *to, const void *from, size_t bytes) {
  for (size_t at = 0; at < bytes; at++) ((volatile char *)to)[at] = ((const char *)from)[at];
  return to;
}

void *memmove(void *to, const void *from, size_t bytes) {
  if ((const char *)to <= (const char *)from) return memcpy(to, from, bytes);
  while (bytes-- > 0) ((volatile char *)to)[bytes] = ((const char *)from)[bytes];
  return to;
}

void *memset(void *to, int byte, size_t bytes) {
  for (size_t at = 0; at < bytes; at++) ((volatile char *)to)[at] = (char)byte;
  return to;
}

int memcmp(const void *one, const void *other, size_t bytes) {
  const unsigned char *a = one, *b = other;
  for (size_t at = 0; at < bytes; at++)
    if (a[at] != b[at]) return a[at] - b[at];
  return 0;
}

int bcmp(const void *one, const void *other, size_t bytes) { return memcmp(one, other, bytes); }

size_t strlen(const char *text) {
  size_t length = 0;
  while (((const volatile char *)text)[length]) length++;
  return length;
}

__attribute__((force_align_arg_pointer)) void _start(void) {
  program();
  stop(0);
}
