//! The supervisor: starts the stations, restarts a failed one, and lets the belt drain.
//!
//! Invariants: a failed station is restarted with the same queues; a drained station is dropped, and with it the last
//! sender into the next queue, so that draining proceeds down the belt by itself.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use ractor::{Actor, ActorCell, ActorId, ActorProcessingErr, ActorRef, SupervisionEvent};

use super::{Station, StationArgs};
use model::Stage;

/// An actor that is being started, linked to its supervisor.
pub type Starting = Pin<Box<dyn Future<Output = Result<ActorId, ActorProcessingErr>> + Send>>;

/// Restarts of one station before the belt is given up. A panic in a stage does not count: it is a fault of its
/// document.
const MAX_RESTARTS: u32 = 100;

/// The actors to run, each with a function that starts it.
#[derive(Default)]
pub struct Plan {
    slots: Vec<Slot>,
}

struct Slot {
    name: &'static str,
    id: Option<ActorId>,
    n_restarts: u32,
    start: Arc<dyn Fn(ActorCell) -> Starting + Send + Sync>,
}

impl Plan {
    /// Adds a station.
    pub fn station<S: Stage>(self, args: StationArgs<S>) -> Self {
        self.actor(S::NAME, move |supervisor| {
            let args = args.clone();
            Box::pin(async move {
                let (actor, _) =
                    Actor::spawn_linked(None, Station::<S>::default(), args, supervisor).await?;
                Ok(actor.get_id())
            })
        })
    }

    /// Adds any other actor.
    pub fn actor(
        mut self,
        name: &'static str,
        start: impl Fn(ActorCell) -> Starting + Send + Sync + 'static,
    ) -> Self {
        self.slots.push(Slot { name, id: None, n_restarts: 0, start: Arc::new(start) });
        self
    }
}

/// Supervises the actors of one belt; ends when all of them have ended.
pub struct Supervisor;

/// The message type of a supervisor, which receives none; it only handles events of its children.
pub enum Nothing {}

impl Actor for Supervisor {
    type Msg = Nothing;
    type State = Plan;
    type Arguments = Plan;

    async fn pre_start(
        &self,
        myself: ActorRef<Nothing>,
        mut plan: Plan,
    ) -> Result<Plan, ActorProcessingErr> {
        for slot in &mut plan.slots {
            slot.id = Some((slot.start)(myself.get_cell()).await?);
        }
        Ok(plan)
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<Nothing>,
        event: SupervisionEvent,
        plan: &mut Plan,
    ) -> Result<(), ActorProcessingErr> {
        match event {
            SupervisionEvent::ActorFailed(who, why) => {
                restart(&myself, plan, who.get_id(), &why.to_string()).await?
            }
            // Drained: dropping the slot drops its senders, and the next station drains.
            SupervisionEvent::ActorTerminated(who, ..) => {
                plan.slots.retain(|slot| slot.id != Some(who.get_id()));
            }
            _ => {}
        }
        if plan.slots.is_empty() {
            myself.stop(Some("drained".into()));
        }
        Ok(())
    }
}

async fn restart(
    myself: &ActorRef<Nothing>,
    plan: &mut Plan,
    who: ActorId,
    why: &str,
) -> Result<(), ActorProcessingErr> {
    // An actor that was replaced already.
    let Some(slot) = plan.slots.iter_mut().find(|slot| slot.id == Some(who)) else { return Ok(()) };
    slot.n_restarts += 1;
    tracing::error!(
        station = slot.name,
        why,
        restarts = slot.n_restarts,
        "station failed, starting it again"
    );
    if slot.n_restarts > MAX_RESTARTS {
        return Err(format!("station `{}` fails again and again: {why}", slot.name).into());
    }
    let start = slot.start.clone();
    slot.id = Some(start(myself.get_cell()).await?);
    Ok(())
}
