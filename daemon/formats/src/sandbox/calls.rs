//! Calls: the system calls that a confined parser may make.
//!
//! Two filters; the kernel applies the stricter verdict. System calls that no parser needs (processes, sockets,
//! memory of other processes, kernel interfaces) kill the worker at once, so that the attempt is noticed. Every other
//! call that is not on the list fails with `EPERM`, because a call that a C library merely tries must not fail a
//! document.
//! Invariant: no memory can be made executable; no path can be opened or examined; only the own process can be
//! signaled.

use std::collections::BTreeMap;

use libc::{self as sys, c_long};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule,
};

/// Calls of a loop that reads a descriptor, computes, writes a reply and may abort.
const ALLOWED: &[c_long] = &[
    // Memory; `mmap` and `mprotect` are allowed with conditions below.
    sys::SYS_brk,
    sys::SYS_madvise,
    sys::SYS_mremap,
    sys::SYS_munmap,
    // The socket, the document, standard error.
    sys::SYS_close,
    sys::SYS_fstat,
    sys::SYS_lseek,
    sys::SYS_ppoll,
    sys::SYS_pread64,
    sys::SYS_read,
    sys::SYS_readv,
    sys::SYS_recvfrom,
    sys::SYS_recvmsg,
    sys::SYS_sendmsg,
    sys::SYS_sendto,
    sys::SYS_write,
    sys::SYS_writev,
    // Clocks, random numbers, locks, its own ids.
    sys::SYS_clock_gettime,
    sys::SYS_clock_nanosleep,
    sys::SYS_futex,
    sys::SYS_getpid,
    sys::SYS_getrandom,
    sys::SYS_getrusage,
    sys::SYS_gettid,
    sys::SYS_nanosleep,
    sys::SYS_restart_syscall,
    sys::SYS_rseq,
    sys::SYS_sched_yield,
    // Signals that it handles: stack overflow.
    sys::SYS_rt_sigaction,
    sys::SYS_rt_sigprocmask,
    sys::SYS_rt_sigreturn,
    sys::SYS_sigaltstack,
    // Exit.
    sys::SYS_exit,
    sys::SYS_exit_group,
];

/// Older forms of these calls on this architecture.
#[cfg(target_arch = "x86_64")]
const ALLOWED_HERE: &[c_long] = &[sys::SYS_poll];
#[cfg(not(target_arch = "x86_64"))]
const ALLOWED_HERE: &[c_long] = &[];

/// Calls that kill the worker.
const DEADLY: &[c_long] = &[
    sys::SYS_accept,
    sys::SYS_accept4,
    sys::SYS_bind,
    sys::SYS_bpf,
    sys::SYS_clone,
    sys::SYS_clone3,
    sys::SYS_connect,
    sys::SYS_execve,
    sys::SYS_execveat,
    sys::SYS_init_module,
    sys::SYS_finit_module,
    sys::SYS_io_uring_setup,
    sys::SYS_keyctl,
    sys::SYS_listen,
    sys::SYS_mount,
    sys::SYS_perf_event_open,
    sys::SYS_pidfd_getfd,
    sys::SYS_pidfd_open,
    sys::SYS_process_vm_readv,
    sys::SYS_process_vm_writev,
    sys::SYS_ptrace,
    sys::SYS_setns,
    sys::SYS_socket,
    sys::SYS_socketpair,
    sys::SYS_unshare,
    sys::SYS_userfaultfd,
];

/// Older forms of these calls on this architecture.
#[cfg(target_arch = "x86_64")]
const DEADLY_HERE: &[c_long] = &[sys::SYS_fork, sys::SYS_vfork];
#[cfg(not(target_arch = "x86_64"))]
const DEADLY_HERE: &[c_long] = &[];

/// Restricts this thread, the only one of the process, irrevocably. The error says why there is no filter.
pub(super) fn restrict() -> Result<(), String> {
    let deadly = filter(deadly(), SeccompAction::Allow, SeccompAction::KillProcess);
    let refused = SeccompAction::Errno(sys::EPERM as u32);
    let allowed = allowed().and_then(|rules| filter(rules, refused, SeccompAction::Allow));
    // The filter that allows little comes last: after it, no other can be added.
    for program in [deadly, allowed] {
        let program = program.map_err(|error| error.to_string())?;
        seccompiler::apply_filter(&program).map_err(|error| error.to_string())?;
    }
    Ok(())
}

type Rules = BTreeMap<c_long, Vec<SeccompRule>>;

fn filter(
    rules: Rules,
    otherwise: SeccompAction,
    matched: SeccompAction,
) -> Result<BpfProgram, BackendError> {
    let arch = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, otherwise, matched, arch)?.try_into()
}

/// Returns a rule without conditions for each call that kills the worker.
fn deadly() -> Rules {
    DEADLY.iter().chain(DEADLY_HERE).map(|call| (*call, Vec::new())).collect()
}

/// Returns the rules of the allowed calls.
fn allowed() -> Result<Rules, BackendError> {
    let mut rules: Rules =
        ALLOWED.iter().chain(ALLOWED_HERE).map(|call| (*call, Vec::new())).collect();
    let argument =
        |index, test, value| SeccompCondition::new(index, SeccompCmpArgLen::Dword, test, value);
    let one = |condition| Ok(vec![SeccompRule::new(vec![condition])?]);
    // The third argument of both calls holds the protection flags; `PROT_EXEC` must not be set.
    let executable = SeccompCmpOp::MaskedEq(sys::PROT_EXEC as u64);
    for call in [sys::SYS_mmap, sys::SYS_mprotect] {
        rules.insert(call, one(argument(2, executable.clone(), 0)?)?);
    }
    // `abort` signals its own thread; `F_GETFD` only checks whether a descriptor is open.
    let own = u64::from(std::process::id());
    rules.insert(sys::SYS_tgkill, one(argument(0, SeccompCmpOp::Eq, own)?)?);
    rules.insert(sys::SYS_fcntl, one(argument(1, SeccompCmpOp::Eq, sys::F_GETFD as u64)?)?);
    Ok(rules)
}
