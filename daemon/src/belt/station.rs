//! The one generic actor: runs a stage, item after item.
//!
//! In: items of the stage's input type. Out: one item for each, in order within a lane.
//! Invariant: a panic in the stage costs the document that caused it, which leaves as a fault; the stage is made
//! anew from its recipe.

use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use ractor::{Actor, ActorProcessingErr, ActorRef};

use super::{DocFault, Inlet, Item, Lanes, Stage};
use crate::terms::Lane;

/// Bulk documents a station takes at once, at most; an interactive one waits for no more than these.
const BULK_BATCH: usize = 8;

/// Runs one stage.
pub struct Station<S>(PhantomData<fn() -> S>);

impl<S> Default for Station<S> {
    fn default() -> Self {
        Station(PhantomData)
    }
}

/// What a station is started with; the supervisor keeps a copy to start it again.
pub struct StationArgs<S: Stage> {
    /// Makes the stage: at the start, and again after a panic.
    pub recipe: Arc<dyn Fn() -> S + Send + Sync>,
    /// Where items come from.
    pub inlet: Arc<Inlet<S::In>>,
    /// Where they go.
    pub outlet: Lanes<S::Out>,
}

impl<S: Stage> Clone for StationArgs<S> {
    fn clone(&self) -> Self {
        StationArgs {
            recipe: self.recipe.clone(),
            inlet: self.inlet.clone(),
            outlet: self.outlet.clone(),
        }
    }
}

/// A station's state between items.
pub struct StationState<S: Stage> {
    args: StationArgs<S>,
    stage: Option<S>,
}

/// Tells a station to take its next item; it sends this to itself after each.
pub struct Pull;

impl<S: Stage> Actor for Station<S> {
    type Msg = Pull;
    type State = StationState<S>;
    type Arguments = StationArgs<S>;

    async fn pre_start(
        &self,
        myself: ActorRef<Pull>,
        args: StationArgs<S>,
    ) -> Result<StationState<S>, ActorProcessingErr> {
        let stage = Some((args.recipe)());
        myself.cast(Pull)?;
        Ok(StationState { args, stage })
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
        // A handful of bulk documents shares one trip to a worker thread; an interactive one goes by itself.
        let mut batch = vec![item];
        while batch.len() < BULK_BATCH && batch.iter().all(|item| item.ticket().lane == Lane::Bulk)
        {
            let Some(next) = state.args.inlet.try_next(false) else { break };
            match next.ticket().lane {
                Lane::Interactive => batch.insert(0, next),
                Lane::Bulk => batch.push(next),
            }
        }
        crate::fail::station(S::NAME, "in");
        for out in state.process(batch).await {
            let sent = state.args.outlet.of(out.ticket().lane).send(out).await;
            crate::fail::station(S::NAME, "out");
            state.args.inlet.done(1);
            if sent.is_err() {
                myself.stop(Some("the next station is gone".into()));
                return Ok(());
            }
        }
        myself.cast(Pull)?;
        Ok(())
    }
}

impl<S: Stage> StationState<S> {
    /// Turns items into the next stage's items, in order. Work runs off the async threads.
    async fn process(&mut self, items: Vec<Item<S::In>>) -> Vec<Item<S::Out>> {
        let mut stage = self.stage.take().unwrap_or_else(|| (self.args.recipe)());
        let recipe = self.args.recipe.clone();
        if S::IS_LIGHT {
            let out = items.into_iter().map(|item| run_one(&mut stage, &*recipe, item)).collect();
            self.stage = Some(stage);
            return out;
        }
        let work = tokio::task::spawn_blocking(move || {
            let out = items.into_iter().map(|item| run_one(&mut stage, &*recipe, item)).collect();
            (stage, out)
        });
        match work.await {
            Ok((stage, out)) => {
                self.stage = Some(stage);
                out
            }
            // Only when the runtime is going down: panics of the stage are caught where they happen.
            Err(_) => Vec::new(),
        }
    }
}

/// Runs the stage on one item. A panic becomes the document's fault, and the stage is made anew.
fn run_one<S: Stage>(
    stage: &mut S,
    recipe: &(dyn Fn() -> S + Send + Sync),
    item: Item<S::In>,
) -> Item<S::Out> {
    let (ticket, document) = match item {
        Item::Document(ticket, document) => (ticket, document),
        Item::Removed(ticket) => return Item::Removed(ticket),
        Item::Faulted(ticket, fault) => return Item::Faulted(ticket, fault),
    };
    match catch_unwind(AssertUnwindSafe(|| stage.run(document))) {
        Ok(Ok(out)) => Item::Document(ticket, out),
        Ok(Err(fault)) => Item::Faulted(ticket, fault),
        Err(panic) => {
            // Whatever the panic left half done inside the stage goes with it.
            *stage = recipe();
            let reason = format!("panic: {}", panic_message(&*panic));
            tracing::error!(stage = S::NAME, path = %ticket.path, reason, "stage failed");
            Item::Faulted(ticket, DocFault::lasting(S::NAME, reason))
        }
    }
}

/// What a panic said, as far as it can be read.
fn panic_message(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::belt::{Ticket, lanes};
    use crate::terms::{Generation, RelPath};

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

    fn ticket(n: u64, lane: Lane) -> Ticket {
        Ticket {
            path: RelPath::new(format!("{n}.md")),
            generation: Generation(n),
            lane,
            moved_from: None,
            is_exchange: false,
            is_forced: false,
            version: Default::default(),
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
        let args = StationArgs { recipe: Arc::new(|| Half), inlet, outlet };
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
    async fn the_interactive_lane_goes_first() {
        let bulk = |n: u64| Item::Document(ticket(n, Lane::Bulk), n as u32);
        let seen =
            run(vec![bulk(2), bulk(4), Item::Document(ticket(6, Lane::Interactive), 6)]).await;
        assert_eq!(seen, ["6.md 3", "2.md 1", "4.md 2"]);
    }
}
