//! At once: questions per second, and latency, with several clients asking at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Result, anyhow};

/// Numbers of clients tried.
const CLIENTS: [usize; 4] = [1, 2, 4, 16];

/// Asks every question `rounds` times; each free client takes the next one. `client` creates a
/// client. Prints a line for each number of clients.
pub(crate) fn at_once<A: FnMut(&str) -> Result<()>>(
    questions: &[String],
    rounds: usize,
    client: impl Fn() -> Result<A> + Sync,
) -> Result<()> {
    for n_clients in CLIENTS {
        let next = AtomicUsize::new(0);
        let started = Instant::now();
        let all: Vec<Result<Vec<f64>>> = std::thread::scope(|scope| {
            let ask = || -> Result<Vec<f64>> {
                let (mut ask, mut times) = (client()?, Vec::new());
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    let Some(question) = questions.get(n % questions.len()) else {
                        break;
                    };
                    if n >= questions.len() * rounds {
                        break;
                    }
                    let began = Instant::now();
                    ask(question)?;
                    times.push(began.elapsed().as_secs_f64() * 1e3);
                }
                Ok(times)
            };
            let asking: Vec<_> = (0..n_clients).map(|_| scope.spawn(ask)).collect();
            let died = || anyhow!("a client died");
            asking.into_iter().map(|it| it.join().map_err(|_| died())?).collect()
        });
        let times: Vec<f64> = all.into_iter().collect::<Result<Vec<_>>>()?.concat();
        let a_second = times.len() as f64 / started.elapsed().as_secs_f64();
        println!("  {n_clients:>2} at once: {a_second:6.0} a second, {}", super::spread(&times));
    }
    Ok(())
}
