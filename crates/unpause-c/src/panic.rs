//! A fault of the library where there is no operating system.

use core::panic::PanicInfo;

unsafe extern "C" {
    /// The program's: stops or restarts it. Called where the library finds a fault of its own, which
    /// `UNPAUSE_STATUS_PANIC` tells with the feature `std`.
    safe fn unpause_panic() -> !;
}

#[panic_handler]
fn on_panic(_: &PanicInfo<'_>) -> ! {
    unpause_panic()
}
