/* Port to a Cortex-M4 with semihosting: QEMU, or a board with a debugger.
 *
 *   arm-none-eabi-gcc -std=c11 -Os -mcpu=cortex-m4 -mthumb -ffreestanding -nostdlib -I ../../include \
 *     -T cortex_m4.ld -Wl,--gc-sections,-z,noexecstack pcn.c cortex_m4.c \
 *     ../../../../target/thumbv7em-none-eabi/firmware/libunpause_c.a -lgcc -o pcn.elf
 *   qemu-system-arm -machine mps2-an386 -nographic -semihosting -kernel pcn.elf */
#include "port.h"

#include <stdint.h>

/* Arm's semihosting: SYS_WRITE0, and SYS_EXIT_EXTENDED with ADP_Stopped_ApplicationExit. */
enum { WRITE0 = 0x04, EXIT_EXTENDED = 0x20, APPLICATION_EXIT = 0x20026 };

static void semihost(uint32_t operation, const void *argument) {
  register uint32_t r0 __asm__("r0") = operation;
  register const void *r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

void put(const char *text) { semihost(WRITE0, text); }

_Noreturn void stop(int status) {
  const uint32_t why[2] = {APPLICATION_EXIT, (uint32_t)status};
  semihost(EXIT_EXTENDED, why);
  for (;;) {
  }
}

/* Places of the linker script. */
extern uint32_t data_from[], data_start[], data_end[], bss_start[], bss_end[], stack_top[];

_Noreturn void reset(void) {
  const uint32_t *from = data_from;
  for (uint32_t *to = data_start; to < data_end;) *to++ = *from++;
  for (uint32_t *to = bss_start; to < bss_end;) *to++ = 0;
  program();
  stop(0);
}

static _Noreturn void fault(void) { stop(3); }

/* Stack, reset, NMI, hard, memory, bus and usage fault. */
__attribute__((section(".vectors"), used)) static const void *const vectors[] = {
    stack_top, (void *)reset, (void *)fault, (void *)fault, (void *)fault, (void *)fault, (void *)fault,
};
