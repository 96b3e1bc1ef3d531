//! Fatal: the last line of a process that ends by a signal for a fault of its own.
//!
//! In: a signal. Out: one line on standard error, then what the signal would have done anyway: the exit status, a core
//! file, the standard library's message about an overflowed stack.
//! Invariant: a handler calls only `write`, `sigaction` and `raise`, which may be called at any instant, and takes no
//! lock; what it needs was made before it was installed.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use libc::{c_int, c_void, sigaction, siginfo_t};

/// A signal, and the line that is written when it ends the process.
struct Fatal {
    signal: c_int,
    line: &'static str,
    /// The same as it is written: its commands name the project. Reading it takes no lock.
    shown: OnceLock<String>,
    /// What was done with the signal before; set once, never freed.
    before: AtomicPtr<sigaction>,
}

macro_rules! fatal {
    ($($name:ident: $why:literal),* $(,)?) => {
        [$(Fatal {
            signal: libc::$name,
            line: concat!("kgd: ended by ", stringify!($name), ": ", $why, "\n"),
            shown: OnceLock::new(),
            before: AtomicPtr::new(std::ptr::null_mut()),
        }),*]
    };
}

static FATAL: [Fatal; 5] = fatal! {
    SIGBUS: "a file that was mapped into memory was cut or cannot be read, such as a `-shm` of the state folder\n\
             hint: nothing that was confirmed is lost; `kgctl start`, and find out what changes files there",
    SIGSEGV: "memory was used that is not there, which is a bug\nhint: please report it",
    SIGILL: "an instruction that this processor does not have\nhint: install kgd for this processor",
    SIGFPE: "a forbidden operation on numbers, which is a bug\nhint: please report it",
    SIGABRT: "it gave itself up; the line before may say why, such as no memory\nhint: `kgctl start`",
};

/// Has each fatal signal write one line to standard error before it does what it did. A write beyond the limit on file
/// sizes is made to fail like one to a full disk, instead of ending the process: then it is waited for, and said.
/// `named` returns a line whose commands name the project.
pub fn mind_fatal_signals(named: impl Fn(&str) -> String) {
    // SAFETY: `SIG_IGN` is a valid action for this signal, which nothing else here handles.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    for fatal in &FATAL {
        fatal.shown.get_or_init(|| named(fatal.line));
        // SAFETY: `sigaction` is valid as zeros, and both pointers are to live values of that type. The handler has the
        // signature that `SA_SIGINFO` asks for.
        unsafe {
            let before = Box::into_raw(Box::new(std::mem::zeroed::<sigaction>()));
            let mut ours: sigaction = std::mem::zeroed();
            let handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = report;
            ours.sa_sigaction = handler as usize;
            // On the signal's own stack, because the stack may be what overflowed.
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigemptyset(&raw mut ours.sa_mask);
            if libc::sigaction(fatal.signal, &raw const ours, before) == 0 {
                // A signal before this line finds no earlier action, and then takes the default.
                fatal.before.store(before, Ordering::Release);
            }
        }
    }
}

extern "C" fn report(signal: c_int, info: *mut siginfo_t, _: *mut c_void) {
    let Some(fatal) = FATAL.iter().find(|it| it.signal == signal) else { return };
    let before = fatal.before.load(Ordering::Acquire);
    let line = fatal.shown.get().map_or(fatal.line, String::as_str);
    // SAFETY: the line lives as long as the process, `before` is null or a leaked `sigaction`, and the kernel passes a
    // valid `info`. All three functions are safe in a signal handler.
    unsafe {
        libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), line.len());
        let is_fault = !info.is_null() && (*info).si_code > 0;
        if is_fault && !before.is_null() {
            // The instruction is executed again after the return, now under the earlier action.
            libc::sigaction(signal, before, std::ptr::null_mut());
        } else {
            // Another process sent it, or `abort` did: nothing would raise it again.
            let default: sigaction = std::mem::zeroed();
            libc::sigaction(signal, &raw const default, std::ptr::null_mut());
            libc::raise(signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_one_message_that_names_its_signal_and_a_way_on() {
        for fatal in &FATAL {
            let (first, hint) = fatal.line.trim_end().split_once("\nhint: ").expect("a hint");
            assert!(first.starts_with("kgd: ended by SIG") && !hint.contains('\n'), "{first}");
        }
    }
}
