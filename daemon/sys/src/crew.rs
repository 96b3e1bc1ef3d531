//! Crew: the threads that do bulk work, at a raised nice value, so that the system prefers threads that answer a
//! person.
//!
//! In: closures. Out: their results, as futures.
//! Invariants: a crew's threads live as long as the process and take jobs in order; a job that panics affects only
//! itself. On Linux, niceness belongs to a thread and cannot be lowered again without privilege, so these threads
//! never do anything else, and interactive work never runs here.
//! Rejected: `SCHED_BATCH`, which only changes which thread is woken first and needs a call that is not safe.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use tokio::sync::oneshot;

/// Added to the nice value: gives a tenth of the weight of a normal thread when both want the processor.
pub const NICENESS: i32 = 10;

/// The same for work that has hours of time: a seventieth of the weight of a normal thread, an eighth of that of
/// other crews.
const NICEST: i32 = 19;

/// Most threads for the bulk work of all stages: the work of a stage is short, and each thread keeps memory.
const MOST_STAGE_THREADS: usize = 4;

/// Threads that wait for parsing workers: as many as there may be workers, whatever the number of cores.
const N_PARSE_THREADS: usize = 8;

type Job = Box<dyn FnOnce() + Send>;

/// A fixed number of threads with a higher nice value than the rest of the process.
pub struct Crew {
    jobs: Sender<Job>,
    n_threads: usize,
}

/// The job panicked, with this message, or the process is ending.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Lost(pub String);

/// Returns the threads for the bulk work of the stages.
pub fn stages() -> &'static Crew {
    static CREW: LazyLock<Crew> = LazyLock::new(|| {
        let n_cores = std::thread::available_parallelism().map_or(1, usize::from);
        Crew::new("kgd-bulk", n_cores.clamp(2, MOST_STAGE_THREADS))
    });
    &CREW
}

/// Returns the threads that wait for the workers that parse documents of the bulk lane; separate, since a document
/// may occupy one of them for a minute. They cost nothing while they wait.
pub fn parsing() -> &'static Crew {
    static CREW: LazyLock<Crew> = LazyLock::new(|| Crew::new("kgd-bulk-parse", N_PARSE_THREADS));
    &CREW
}

/// Returns the thread for bulk commits and ripples; separate, so that callers of the writer never wait for a stage.
pub fn writing() -> &'static Crew {
    static CREW: LazyLock<Crew> = LazyLock::new(|| Crew::new("kgd-bulk-write", 1));
    &CREW
}

/// Returns the thread that reads files for the bulk lane; separate, since a slow disk must delay no stage.
pub fn reading() -> &'static Crew {
    static CREW: LazyLock<Crew> = LazyLock::new(|| Crew::new("kgd-bulk-read", 1));
    &CREW
}

/// Returns the thread that compares two indexes row by row, which takes minutes on a large one.
pub fn comparing() -> &'static Crew {
    static CREW: LazyLock<Crew> = LazyLock::new(|| Crew::new("kgd-compare", 1));
    &CREW
}

/// Returns the thread that checks stored data for changed bytes, which has hours of time.
pub fn scrubbing() -> &'static Crew {
    static CREW: LazyLock<Crew> = LazyLock::new(|| Crew::nicer("kgd-scrub", 1, NICEST));
    &CREW
}

/// Returns the thread that embeds with the better model, after everything else: at an even higher nice value.
pub fn embedding() -> &'static Crew {
    static CREW: LazyLock<Crew> = LazyLock::new(|| Crew::nicer("kgd-embed", 1, NICEST));
    &CREW
}

impl Crew {
    fn new(name: &str, n_wanted: usize) -> Self {
        Self::nicer(name, n_wanted, NICENESS)
    }

    fn nicer(name: &str, n_wanted: usize, niceness: i32) -> Self {
        let (jobs, receiver) = channel();
        let receiver = Arc::new(Mutex::new(receiver));
        let start = |_: &usize| {
            let receiver = receiver.clone();
            let thread = std::thread::Builder::new().name(name.into());
            thread.spawn(move || work(&receiver, niceness)).is_ok()
        };
        let n_threads = (0..n_wanted).filter(start).count();
        Crew { jobs, n_threads }
    }

    /// Runs `job` on one of the threads, after earlier jobs. It runs even if nobody waits for the result.
    pub fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> impl Future<Output = Result<T, Lost>> + Send + 'static {
        let (reply, answer) = oneshot::channel();
        let job = move || {
            let done = catch_unwind(AssertUnwindSafe(job));
            let _ = reply.send(done.map_err(|panic| Lost(panic_message(&*panic).to_string())));
        };
        if self.n_threads == 0 {
            // The system gave us no thread; one of the runtime's is better than none.
            tokio::task::spawn_blocking(job);
        } else if let Err(job) = self.jobs.send(Box::new(job)) {
            // The crew's threads have all ended, so the job runs here.
            (job.0)();
        }
        async move { answer.await.unwrap_or_else(|_| Err(Lost("the process is ending".into()))) }
    }
}

/// The loop of a crew's thread.
fn work(jobs: &Mutex<Receiver<Job>>, niceness: i32) {
    if let Err(error) = rustix::process::nice(niceness) {
        tracing::warn!(%error, "bulk work runs at normal priority");
    }
    loop {
        // The lock is held while waiting for a job, not while running it.
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        match job {
            Ok(job) => job(),
            Err(_) => return,
        }
    }
}

/// Returns the message of a panic, if it is text.
pub fn panic_message(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message")
}

/// Returns this thread's nice value according to the kernel; for tests.
#[cfg(any(test, feature = "testing"))]
pub fn niceness() -> i32 {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").expect("Linux");
    let (_, fields) = stat.rsplit_once(')').expect("a name");
    fields.split_whitespace().nth(16).and_then(|it| it.parse().ok()).expect("a number")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_threads_of_a_crew_are_nicer_than_the_rest() {
        let own = niceness();
        for crew in [stages(), writing(), reading()] {
            assert_eq!(crew.run(niceness).await, Ok((own + NICENESS).min(19)));
        }
        assert_eq!(niceness(), own);
    }

    #[tokio::test]
    async fn a_job_that_panics_costs_itself_only() {
        let lost = writing().run(|| -> u32 { panic!("unlucky") }).await;
        assert_eq!(lost, Err(Lost("unlucky".into())));
        assert_eq!(writing().run(|| 7).await, Ok(7));
    }
}
