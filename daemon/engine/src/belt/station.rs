//! The one generic actor: runs a stage, item after item.
//!
//! In: items of the stage's input type. Out: one item for each, in order within a lane.
//! Invariants: a panic in the stage affects only the document that caused it, which leaves as a fault; the stage is
//! then created again from its recipe. An interactive item never waits for bulk, neither for its processing nor for
//! room in the next queue: each lane has a stage of its own, and bulk work runs on the low-priority threads of the
//! crew, several documents at once if the station allows.

use std::collections::VecDeque;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use ractor::{Actor, ActorProcessingErr, ActorRef};

use super::{Inlet, Lanes, Queue};
use model::terms::Lane;
use model::{DocFault, Item, Stage};
use sys::crew::{self, Crew, panic_message};

/// Most bulk documents taken at once: they share one trip to a worker thread.
const BULK_BATCH: usize = 8;

/// Runs one stage.
pub struct Station<S>(PhantomData<fn() -> S>);

impl<S> Default for Station<S> {
    fn default() -> Self {
        Station(PhantomData)
    }
}

/// The arguments of a station; the supervisor keeps a copy to restart it.
pub struct StationArgs<S: Stage> {
    /// Creates the stage for a lane: at the start, and again after a panic.
    pub recipe: Arc<dyn Fn(Lane) -> S + Send + Sync>,
    /// The threads that do the bulk work.
    pub crew: &'static Crew,
    /// Bulk documents processed at once, at least 1.
    pub n_at_once: usize,
    /// Where items come from.
    pub inlet: Arc<Inlet<S::In>>,
    /// Where they go.
    pub outlet: Lanes<S::Out>,
}

impl<S: Stage> StationArgs<S> {
    /// Connects two queues by a station that processes one bulk document at a time.
    pub fn new(
        inlet: Arc<Inlet<S::In>>,
        next: &Queue<S::Out>,
        recipe: impl Fn(Lane) -> S + Send + Sync + 'static,
    ) -> Self {
        StationArgs {
            recipe: Arc::new(recipe),
            crew: crew::stages(),
            n_at_once: 1,
            inlet,
            outlet: next.lanes.clone(),
        }
    }

    /// Assigns the bulk work to another crew, `n_at_once` documents at a time.
    pub fn on(self, crew: &'static Crew, n_at_once: usize) -> Self {
        StationArgs { crew, n_at_once, ..self }
    }
}

impl<S: Stage> Clone for StationArgs<S> {
    fn clone(&self) -> Self {
        StationArgs {
            recipe: self.recipe.clone(),
            crew: self.crew,
            n_at_once: self.n_at_once,
            inlet: self.inlet.clone(),
            outlet: self.outlet.clone(),
        }
    }
}

/// A station's state between items.
pub struct StationState<S: Stage> {
    args: StationArgs<S>,
    /// The stages of the two lanes. They are moved out while they work, and created again if they do not come back.
    interactive: Option<S>,
    bulk: Vec<S>,
}

/// Makes a station take its next item; the station sends it to itself after each.
pub struct Pull;

/// The next station has stopped.
struct Gone;

impl<S: Stage> Actor for Station<S> {
    type Msg = Pull;
    type State = StationState<S>;
    type Arguments = StationArgs<S>;

    async fn pre_start(
        &self,
        myself: ActorRef<Pull>,
        args: StationArgs<S>,
    ) -> Result<StationState<S>, ActorProcessingErr> {
        myself.cast(Pull)?;
        Ok(StationState { args, interactive: None, bulk: Vec::new() })
    }

    async fn handle(
        &self,
        myself: ActorRef<Pull>,
        _: Pull,
        state: &mut StationState<S>,
    ) -> Result<(), ActorProcessingErr> {
        let Some(item) = state.args.inlet.next().await else {
            myself.stop(Some("drained".into()));
            return Ok(());
        };
        sys::fail::station(S::NAME, "in");
        let done = match item.ticket().lane {
            Lane::Interactive => state.run_interactive(item).await,
            Lane::Bulk => state.run_bulk(item).await,
        };
        sys::fail::station(S::NAME, "out");
        // A message per item, not a loop, lets the actor see stop requests in between.
        match done {
            Ok(()) => myself.cast(Pull)?,
            Err(Gone) => myself.stop(Some("the next station is gone".into())),
        }
        Ok(())
    }
}

impl<S: Stage> StationState<S> {
    /// Runs the stage on one interactive item and sends it on.
    async fn run_interactive(&mut self, item: Item<S::In>) -> Result<(), Gone> {
        let recipe = self.args.recipe.clone();
        let recipe = move || recipe(Lane::Interactive);
        let mut stage = self.interactive.take().unwrap_or_else(&recipe);
        // A light stage takes less time than a trip to another thread.
        let out = if S::IS_LIGHT {
            let out = run_one(&mut stage, &recipe, item);
            self.interactive = Some(stage);
            Some(out)
        } else {
            let work = move || {
                let out = run_one(&mut stage, &recipe, item);
                (stage, out)
            };
            // Fails only when the runtime is shutting down: panics of the stage are caught in `run_one`.
            tokio::task::spawn_blocking(work).await.ok().map(|(stage, out)| {
                self.interactive = Some(stage);
                out
            })
        };
        let sent = match out {
            Some(out) => self.args.outlet.interactive.send(out).await.map_err(|_| Gone),
            None => Ok(()),
        };
        self.args.inlet.done(1);
        sent
    }

    /// Runs the stage on up to [`BULK_BATCH`] bulk items and sends them on, in order.
    async fn run_bulk(&mut self, first: Item<S::In>) -> Result<(), Gone> {
        let mut batch = vec![first];
        while batch.len() < BULK_BATCH
            && let Some(item) = self.args.inlet.try_next(Lane::Bulk)
        {
            batch.push(item);
        }
        let n_items = batch.len();
        let out = self.run_all(batch).await?;
        // Fewer come back only when the runtime is shutting down.
        self.args.inlet.done(n_items - out.len());
        for item in out {
            let lane = self.args.outlet.bulk.clone();
            // The next queue may be full for long, and interactive items must not wait for it.
            let sent = self.meanwhile(async move { lane.send(item).await }).await?;
            self.args.inlet.done(1);
            if sent.is_err() {
                return Err(Gone);
            }
        }
        Ok(())
    }

    /// Runs the stage on bulk items, several at once, and returns them in the order they came.
    async fn run_all(&mut self, batch: Vec<Item<S::In>>) -> Result<Vec<Item<S::Out>>, Gone> {
        let n_at_once = self.args.n_at_once.clamp(1, batch.len().max(1));
        let waiting: Arc<Mutex<VecDeque<_>>> =
            Arc::new(Mutex::new(batch.into_iter().enumerate().collect()));
        let mut works = Vec::with_capacity(n_at_once);
        for _ in 0..n_at_once {
            let (recipe, waiting) = (self.args.recipe.clone(), waiting.clone());
            let recipe = move || recipe(Lane::Bulk);
            let mut stage = self.bulk.pop().unwrap_or_else(&recipe);
            // Workers pull from a shared queue, so that one large document does not hold up the rest.
            works.push(self.args.crew.run(move || {
                let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                let mut done = Vec::new();
                while let Some((place, item)) = next() {
                    done.push((place, run_one(&mut stage, &recipe, item)));
                }
                (stage, done)
            }));
        }
        let mut out = Vec::new();
        for work in works {
            if let Ok((stage, done)) = self.meanwhile(work).await? {
                self.bulk.push(stage);
                out.extend(done);
            }
        }
        // Workers finish in any order.
        out.sort_unstable_by_key(|(place, _)| *place);
        Ok(out.into_iter().map(|(_, item)| item).collect())
    }

    /// Waits for bulk `work`, and processes interactive items meanwhile.
    async fn meanwhile<F: Future>(&mut self, work: F) -> Result<F::Output, Gone> {
        let inlet = self.args.inlet.clone();
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                biased;
                item = inlet.next_interactive() => self.run_interactive(item).await?,
                done = &mut work => return Ok(done),
            }
        }
    }
}

/// Runs the stage on one item. A panic becomes the document's fault, and the stage is created again.
fn run_one<S: Stage>(stage: &mut S, recipe: &dyn Fn() -> S, item: Item<S::In>) -> Item<S::Out> {
    let (ticket, document) = match item {
        Item::Document(ticket, document) => (ticket, document),
        Item::Removed(ticket) => return Item::Removed(ticket),
        Item::Faulted(ticket, fault) => return Item::Faulted(ticket, fault),
    };
    match catch_unwind(AssertUnwindSafe(|| stage.run(document))) {
        Ok(Ok(out)) => Item::Document(ticket, out),
        Ok(Err(fault)) => Item::Faulted(ticket, fault),
        Err(panic) => {
            // The old stage may be in an inconsistent state; drop it.
            *stage = recipe();
            // A panic may quote the document, in the first stage even before secrets are removed.
            let message = redact::clean(panic_message(&*panic));
            let reason = format!("panic: {message}");
            tracing::error!(stage = S::NAME, path = %ticket.path, reason, "stage failed");
            Item::Faulted(ticket, DocFault::lasting(S::NAME, reason))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::belt::Gauge;
    use model::Ticket;
    use model::terms::{Generation, RelPath};

    struct Half;
    impl Stage for Half {
        const NAME: &'static str = "half";
        type In = u32;
        type Out = u32;
        fn run(&mut self, n: u32) -> Result<u32, DocFault> {
            match n {
                13 => panic!("unlucky"),
                n if n % 2 == 1 => Err(DocFault::lasting("half", format!("`{n}` is odd"))),
                n => Ok(n / 2),
            }
        }
    }

    fn lanes<T: Send + 'static>(
        name: &'static str,
        interactive: usize,
        bulk: usize,
    ) -> (Lanes<T>, Arc<Inlet<T>>, Gauge) {
        let Queue { lanes, inlet, gauge } = Queue::named(name, (interactive, bulk));
        (lanes, inlet, gauge)
    }

    fn args<S: Stage>(
        recipe: impl Fn() -> S + Send + Sync + 'static,
        inlet: Arc<Inlet<S::In>>,
        outlet: Lanes<S::Out>,
    ) -> StationArgs<S> {
        let recipe = Arc::new(move |_| recipe());
        StationArgs { recipe, crew: crew::stages(), n_at_once: 1, inlet, outlet }
    }

    fn ticket(n: u64, lane: Lane) -> Ticket {
        Ticket {
            path: RelPath::new(format!("{n}.md")),
            generation: Generation(n),
            lane,
            moved_from: None,
            is_exchange: false,
            is_forced: false,
            version: Default::default(),
            n_behind: 0,
            weight: Default::default(),
        }
    }

    /// Feeds numbers through one station and prints what leaves it, in order.
    async fn run(items: Vec<Item<u32>>) -> Vec<String> {
        let (into, inlet, _) = lanes::<u32>("half", 32, 32);
        let (outlet, out, _) = lanes::<u32>("end", 32, 32);
        for item in items {
            into.of(item.ticket().lane).send(item).await.expect("the lane is open");
        }
        drop(into);
        let args = args(|| Half, inlet, outlet);
        let (_, handle) =
            Actor::spawn(None, Station::<Half>::default(), args).await.expect("starts");
        let mut seen = Vec::new();
        while let Some(item) = out.next().await {
            seen.push(match item {
                Item::Document(t, n) => format!("{} {n}", t.path),
                Item::Removed(t) => format!("{} removed", t.path),
                Item::Faulted(t, fault) => format!("{} {fault}", t.path),
            });
        }
        handle.await.expect("the station stops by itself");
        seen
    }

    #[tokio::test]
    async fn each_item_leaves_once_and_a_panic_costs_only_its_document() {
        let doc = |n: u64| Item::Document(ticket(n, Lane::Bulk), n as u32);
        let seen =
            run(vec![doc(4), doc(13), doc(3), Item::Removed(ticket(7, Lane::Bulk)), doc(8)]).await;
        assert_eq!(
            seen,
            [
                "4.md 2",
                "13.md half: panic: unlucky",
                "3.md half: `3` is odd",
                "7.md removed",
                "8.md 4"
            ]
        );
    }

    #[tokio::test]
    async fn several_at_once_leave_in_the_order_they_came() {
        let (into, inlet, _) = lanes::<u32>("half", 32, 32);
        let (outlet, out, _) = lanes::<u32>("end", 32, 32);
        for n in 1..=30 {
            let item = Item::Document(ticket(n, Lane::Bulk), n as u32);
            into.bulk.send(item).await.expect("the lane is open");
        }
        drop(into);
        let args = StationArgs { n_at_once: 4, ..args(|| Half, inlet, outlet) };
        let started = Actor::spawn(None, Station::<Half>::default(), args).await;
        for n in 1..=30 {
            let item = out.next().await.expect("each leaves");
            assert_eq!(item.ticket().generation, Generation(n));
            assert_eq!(matches!(item, Item::Document(_, half) if half * 2 == n as u32), n % 2 == 0);
        }
        assert!(out.next().await.is_none());
        started.expect("starts").1.await.expect("the station stops by itself");
    }

    #[tokio::test]
    async fn the_interactive_lane_goes_first() {
        let bulk = |n: u64| Item::Document(ticket(n, Lane::Bulk), n as u32);
        let seen =
            run(vec![bulk(2), bulk(4), Item::Document(ticket(6, Lane::Interactive), 6)]).await;
        assert_eq!(seen, ["6.md 3", "2.md 1", "4.md 2"]);
    }

    #[tokio::test]
    async fn an_interactive_item_passes_bulk_that_waits_for_room() {
        let (into, inlet, gauge) = lanes::<u32>("half", 32, 32);
        let (outlet, out, full) = lanes::<u32>("end", 32, 1);
        for n in 1..=20 {
            let item = Item::Document(ticket(n * 2, Lane::Bulk), n as u32 * 2);
            into.bulk.send(item).await.expect("the lane is open");
        }
        let args = args(|| Half, inlet, outlet);
        let started = Actor::spawn(None, Station::<Half>::default(), args).await;
        let (actor, handle) = started.expect("starts");
        while full.depth().bulk == 0 || gauge.depth().in_work == 0 {
            tokio::task::yield_now().await;
        }
        let item = Item::Document(ticket(6, Lane::Interactive), 6);
        into.interactive.send(item).await.expect("the lane is open");
        assert_eq!(out.next_interactive().await.ticket().path.as_str(), "6.md");
        assert_eq!(full.depth().bulk, 1, "nothing was taken from the full lane");
        actor.stop(None);
        drop(out);
        handle.await.expect("the station stops");
    }

    /// A stage that returns the nice value of its thread.
    struct Niceness;
    impl Stage for Niceness {
        const NAME: &'static str = "niceness";
        type In = u32;
        type Out = i32;
        fn run(&mut self, _: u32) -> Result<i32, DocFault> {
            Ok(crew::niceness())
        }
    }

    #[tokio::test]
    async fn bulk_work_runs_on_nicer_threads_and_interactive_work_does_not() {
        let (into, inlet, _) = lanes::<u32>("niceness", 4, 4);
        let (outlet, out, _) = lanes::<i32>("end", 4, 4);
        for lane in [Lane::Interactive, Lane::Bulk] {
            into.of(lane).send(Item::Document(ticket(1, lane), 1)).await.expect("open");
        }
        drop(into);
        let args = args(|| Niceness, inlet, outlet);
        let started = Actor::spawn(None, Station::<Niceness>::default(), args).await;
        started.expect("starts").1.await.expect("the station stops by itself");
        let own = crew::niceness();
        for nice in [own, (own + crew::NICENESS).min(19)] {
            let Some(Item::Document(_, found)) = out.next().await else { panic!("a document") };
            assert_eq!(found, nice);
        }
    }
}
