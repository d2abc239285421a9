//! The command `congenial`.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;
use std::process::ExitCode;

/// The system's memory; where there is none left the process ends with a message and an exit code of the table, where the standard
/// library would abort it with a signal. Its own hook for that, `std::alloc::set_alloc_error_hook`, is not stable. The check costs 0.4 % of
/// the instructions of `report --full` on the taxi smoke run (callgrind: 70.8 against 70.5 million), which allocates more than draws do.
struct Memory;

#[global_allocator]
static MEMORY: Memory = Memory;

// SAFETY: every call goes to `System`, with the arguments as they came and with what it returns, but for a null pointer, which is not
// returned at all. So `Memory` keeps what `System` promises, and asks of its callers what `System` asks.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        unsafe { there(System.alloc(layout), layout.size()) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        unsafe { there(System.alloc_zeroed(layout), layout.size()) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        unsafe { there(System.realloc(pointer, layout, size), size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[inline]
fn there(pointer: *mut u8, size: usize) -> *mut u8 {
    if pointer.is_null() { none_left(size) } else { pointer }
}

/// Ends the process. Nothing here takes memory.
#[cold]
fn none_left(size: usize) -> ! {
    let mut text = [0; 200];
    let mut rest = &mut text[..];
    let _ = writeln!(
        rest,
        "no memory is left: {size} bytes more were wanted. What a run has written stays: --resume goes on from there."
    );
    let left = rest.len();
    let _ = std::io::stderr().write_all(&text[..text.len() - left]);
    std::process::exit(1)
}

fn main() -> ExitCode {
    congenial::cli::main()
}
