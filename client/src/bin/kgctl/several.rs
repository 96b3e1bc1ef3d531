//! Several: a question to all projects of a hub, or to those that `--project` lists.
//!
//! In: the flags that all commands share; a tool's parameters. Out: the answer, printed, and an exit code.
//! Invariants: where one project is meant, it answers as ever; without a hub, one is.

use std::os::unix::net::UnixStream;
use std::time::Duration;

use ::config::{Places, Registry};
use client::connect::Session;
use client::gateway::pump::{self, Reach};
use client::gateway::{Choice, Gateway, Surroundings, choose};
use client::launch::{Life, Target};
use client::shim::Shim;
use proto::form::Form;
use proto::tool::{Tool, ToolSet};
use serde_json::Value;

use super::context::Context;
use super::failure::{Exit, Failure};

/// Longest wait for all projects together, with the copies that are made when a project is first asked.
const PATIENCE: Duration = Duration::from_secs(60);

impl Context {
    /// Asks, and prints the reply. Nothing is found where all of `lists` are empty.
    pub(crate) async fn answer<T: Tool>(
        &self,
        request: &T,
        lists: &[&str],
    ) -> Result<Exit, Failure> {
        if let Some(exit) = self.ask_several(request, lists).await? {
            return Ok(exit);
        }
        let reply = self.call(request).await?;
        self.show(&reply)?;
        Ok(found(&serde_json::to_value(&reply)?, lists))
    }

    /// Asks and prints as [`Context::answer`] if several projects are meant.
    pub(crate) async fn ask_several<T: Tool>(
        &self,
        request: &T,
        lists: &[&str],
    ) -> Result<Option<Exit>, Failure> {
        let Some(stream) = self.gateway()? else { return Ok(None) };
        let session = Session::open_gateway(stream).await?;
        let (text, data) = session.call_gateway(request).await?;
        session.close().await;
        self.print_reply(&data, |_| text.trim_end().to_string() + "\n")?;
        Ok(Some(found(&data, lists)))
    }

    /// A server over the projects that are meant, if these are several of a hub.
    fn gateway(&self) -> Result<Option<UnixStream>, Failure> {
        let named: Vec<String> = self.project_flag().map(String::from).into_iter().collect();
        let is_one = match named.as_slice() {
            [] => std::env::var_os("KG_PROJECT").is_some_and(|it| !it.is_empty()),
            _ => named.iter().all(|it| !it.contains(',')),
        };
        if !self.is_of_hub() || is_one {
            return Ok(None);
        }
        let places = self.places()?;
        let registry = Registry::load(&places.config)?;
        let cwd = std::env::current_dir().unwrap_or_default();
        let around = Surroundings { registry: &registry, env: None, cwd: &cwd };
        let choice = choose(&named, named.is_empty(), around);
        match choice.map_err(|why| Failure::new(Exit::Refused, why))? {
            Choice::Several(served) if served.projects().nth(1).is_some() => {
                let served = client::hub::serving(&places, served)?;
                let gateway = Gateway::new(served, PATIENCE).structured(true);
                Ok(Some(pump::spawn(gateway, reach(places), None)?))
            }
            _ => Ok(None),
        }
    }
}

fn reach(places: Places) -> Reach {
    Box::new(move |project| {
        let tools = [ToolSet::Core.as_str().to_string()];
        let shim = Shim::new(&project.name, &tools, "kgctl").in_form(Some(Form::Whole));
        let (places, project) = (places.clone(), project.clone());
        let dial = move || {
            let target =
                Target::new(&places, project.clone()).map_err(|error| error.to_string())?;
            target.connect_or_start(Life::UntilIdle).map_err(|error| error.to_string())
        };
        (shim, Box::new(dial))
    })
}

fn found(data: &Value, lists: &[&str]) -> Exit {
    let is_empty = |list: &&str| data[list].as_array().is_none_or(Vec::is_empty);
    let is_nothing = !lists.is_empty() && lists.iter().all(is_empty);
    if is_nothing { Exit::NothingFound } else { Exit::Done }
}
