//! `list_memory_projects`, `create_memory_project` and `get_mcp_instructions`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use config::boundary::{self, Who};
use config::command::{path_word, project_flag, word};
use config::registry::{Registered, RegistryError};
use config::{Places, Registry};
use confine::Missing;
use notes::slug::slug;
use proto::error::{Code, ErrorView};
use proto::tool::notes::{
    CreateMemoryProject, CreatedProjectReply, GetMcpInstructions, InstructionsReply,
    ListMemoryProjects, ProjectView, ProjectsReply,
};

use crate::project::Project;
use crate::serve::Progress;
use crate::serve::tool::{blocking, invalid, unreadable};
use index::store::{Readers, Snapshot};
use query::AskError;

/// How to use and set up this server.
const INSTRUCTIONS: &str = include_str!("instructions.md");

/// Lists the registered projects, and the current one.
pub fn list_memory_projects(
    project: &Project,
    snapshot: &Snapshot,
    _: ListMemoryProjects,
) -> Result<ProjectsReply, ErrorView> {
    let places = Places::from_env().map_err(|error| unusable(&error.to_string()))?;
    let registry = Registry::load(&places.config).map_err(|error| unusable(&error.to_string()))?;
    let default = registry.default_project().map(|it| it.root.clone());
    let mut projects: Vec<ProjectView> = registry
        .projects()
        .iter()
        .map(|it| ProjectView {
            name: it.name.clone(),
            permalink: slug(&it.name),
            path: it.root.display().to_string(),
            is_active: it.root.is_dir(),
            is_default: default.as_ref() == Some(&it.root),
            is_current: it.root == project.root,
            is_read_only: it.read_only,
            ..ProjectView::default()
        })
        .collect();
    if !projects.iter().any(|it| it.is_current) {
        // Served by its folder, without being registered.
        projects.push(ProjectView {
            name: project.name.clone(),
            permalink: slug(&project.name),
            path: project.root.display().to_string(),
            is_active: true,
            is_current: true,
            ..ProjectView::default()
        });
    }
    projects.sort_by(|a, b| a.name.cmp(&b.name));
    for it in &mut projects {
        if it.is_current {
            let (documents, entities) = snapshot.counts().of_contents().map_err(AskError::from)?;
            it.n_documents = Some(documents);
            it.n_entities = Some(entities);
            it.is_read_only |= !project.settings.write;
        } else if let Some((documents, entities)) = counts_of_other(&places, it) {
            it.n_documents = Some(documents);
            it.n_entities = Some(entities);
        }
    }
    Ok(ProjectsReply { projects, freshness: project.freshness(snapshot) })
}

/// Counts the documents and active entities of another project, whether or not its daemon runs; `None` if it has no
/// readable index.
fn counts_of_other(places: &Places, project: &ProjectView) -> Option<(u64, u64)> {
    let project =
        config::Project { root: PathBuf::from(&project.path), name: project.name.clone() };
    let index = places.project(&project).ok()?.index;
    Readers::new(index).look(|index| index.counts().of_contents()).ok()
}

/// Registers a folder below one of `projects.roots`, and creates it if it is missing.
pub async fn create_memory_project(
    project: Arc<Project>,
    request: CreateMemoryProject,
    _: Progress,
) -> Result<CreatedProjectReply, ErrorView> {
    if !project.settings.write {
        return Err(crate::notes::NoteError::ReadOnly.view());
    }
    let name = request.name.trim().to_string();
    if name.is_empty() {
        return Err(invalid("`name` is empty".into(), "give a name"));
    }
    let folder = folder(&request.path)?;
    blocking(move || {
        let wish = Wish::of(&folder, name, &project.settings.projects.roots)?;
        let places = Places::from_env().map_err(|error| unusable(&error.to_string()))?;
        let unusable = |error: RegistryError| unusable(&error.to_string());
        // Before the registry is locked, which creates its folder: a refused call leaves nothing
        // behind.
        wish.check(&Registry::load(&places.config).map_err(unusable)?)?;
        let (registered, is_new) = Registry::update(&places.config, |registry| {
            Ok(wish.register(registry, request.set_default == Some(true)))
        })
        .map_err(unusable)??;
        let hint = format!(
            "`kg-mcp {}` serves it; `kg-mcp --all-projects` serves all of them in one session",
            project_flag(&registered.name)
        );
        let snapshot = project.snapshot().map_err(unreadable)?;
        Ok(CreatedProjectReply {
            name: registered.name,
            path: registered.root.display().to_string(),
            is_new,
            hint,
            freshness: project.freshness(&snapshot),
        })
    })
    .await
}

/// A project that an agent wants, in a folder that it may use.
struct Wish {
    name: String,
    /// The real path of the folder, existing or not.
    root: PathBuf,
    /// The one of `projects.roots` that contains it.
    around: PathBuf,
}

impl Wish {
    /// Checks the folder without creating anything.
    fn of(folder: &Path, name: String, roots: &[String]) -> Result<Self, ErrorView> {
        let shown = folder.display();
        let root = boundary::real_path(folder)
            .map_err(|error| refuse(format!("`{shown}` cannot be used: {error}"), OTHER))?;
        let real = boundary::roots(roots);
        // Outside the roots the answer never depends on what exists there, so that it reveals
        // nothing.
        let Some(around) = real.into_iter().find(|it| root.starts_with(it) && root != *it) else {
            let message = match roots.is_empty() {
                true => "agents make no projects here (`projects.roots` is empty)".to_string(),
                false => format!("`{shown}` does not lie below a folder of `projects.roots`"),
            };
            let (folder, name) = (path_word(folder), word(&name));
            let hint = format!("ask the user to run `kgctl project add {folder} --name {name}`");
            return Err(refuse(message, &hint));
        };
        if let Some(why) = boundary::objection(&root, Who::Agent) {
            return Err(refuse(why, OTHER));
        }
        if root.symlink_metadata().is_ok_and(|found| !found.is_dir()) {
            return Err(refuse(format!("`{shown}` is not a folder"), OTHER));
        }
        Ok(Wish { name, root, around })
    }

    /// Refuses a folder in or around another project, and a name that is taken or invalid.
    fn check(&self, registry: &Registry) -> Result<(), ErrorView> {
        if registry.at(&self.root).is_some() {
            return Ok(());
        }
        let place = config::Project { root: self.root.clone(), name: self.name.clone() };
        if let Some(other) = registry.overlapping(&place) {
            let (root, other) = (self.root.display(), &other.name);
            let hint = "choose a folder of its own; a person may use `kgctl project add DIR`";
            return Err(refuse(format!("`{root}` lies in or around the project `{other}`"), hint));
        }
        registry.check_name(&self.name, &place).map_err(refused)
    }

    /// Returns the project as registered, and whether it is new. One that was registered already
    /// keeps its name, because others use it.
    fn register(
        &self,
        registry: &mut Registry,
        is_default: bool,
    ) -> Result<(Registered, bool), ErrorView> {
        self.check(registry)?;
        let known = registry.at(&self.root).cloned();
        let is_new = known.is_none();
        let registered = match known {
            Some(known) => known,
            None => {
                let made = Made::below(&self.around, &self.root)?;
                let added = self.add(registry)?;
                made.keep();
                added
            }
        };
        if is_default {
            registry.set_default(&registered.name);
        }
        Ok((registered, is_new))
    }

    fn add(&self, registry: &mut Registry) -> Result<Registered, ErrorView> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs());
        let before = registry.clone();
        let added = registry.add(&self.root, Some(&self.name), now).map_err(refused)?;
        if added.root != self.root {
            *registry = before;
            let message = format!("a link was put in the way of `{}`", self.root.display());
            return Err(refuse(message, OTHER));
        }
        Ok(added)
    }
}

/// Folders that were created; removed again unless they are kept.
struct Made(Vec<PathBuf>);

impl Made {
    /// Creates the missing part of a folder below another; links that are put there meanwhile are
    /// not followed.
    fn below(around: &Path, folder: &Path) -> Result<Made, ErrorView> {
        let missing = folder.ancestors().take_while(|it| it.symlink_metadata().is_err());
        let made = Made(missing.map(Path::to_path_buf).collect());
        let inside = folder.strip_prefix(around).ok().and_then(Path::to_str).unwrap_or_default();
        let opened = confine::Root::open(around).map_err(confine::Error::from);
        match opened.and_then(|root| root.folder(inside, Missing::Make)) {
            Ok(_) => Ok(made),
            Err(error) => {
                Err(refuse(format!("cannot make `{}`: {error}", folder.display()), OTHER))
            }
        }
    }

    fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        // Empty, because they were just created; deepest first.
        self.0.iter().for_each(|it| drop(std::fs::remove_dir(it)));
    }
}

const OTHER: &str = "choose another folder";

fn refuse(message: String, hint: &str) -> ErrorView {
    ErrorView::hinted(Code::Refused, message, hint)
}

fn refused(error: RegistryError) -> ErrorView {
    let text = error.to_string();
    let (message, hint) =
        text.split_once("\nhint: ").unwrap_or((&text, "see `kgctl project list`"));
    refuse(message.to_string(), hint)
}

/// Expands an absolute folder: a relative one would depend on the daemon's working directory, which
/// the caller cannot see.
fn folder(given: &str) -> Result<PathBuf, ErrorView> {
    let given = given.trim();
    let expanded = match given.strip_prefix("~/") {
        Some(rest) => std::env::var_os("HOME").map(|home| PathBuf::from(home).join(rest)),
        None => Some(PathBuf::from(given)),
    };
    expanded.filter(|path| path.is_absolute() && !given.contains('\0')).ok_or_else(|| {
        invalid(
            format!("`path` is `{given}`"),
            "give an absolute path, or one that begins with `~/`",
        )
    })
}

fn unusable(why: &str) -> ErrorView {
    let (message, hint) = why.split_once("\nhint: ").unwrap_or((why, "see `kgctl doctor`"));
    ErrorView::hinted(Code::Unavailable, message, hint)
}

/// Returns how to use this server.
pub fn get_mcp_instructions(
    project: &Project,
    snapshot: &Snapshot,
    _: GetMcpInstructions,
) -> Result<InstructionsReply, ErrorView> {
    let settings = BTreeMap::from([
        ("project".to_string(), project.name.clone()),
        ("folder".to_string(), project.root.display().to_string()),
        ("write".to_string(), project.settings.write.to_string()),
        ("projects.roots".to_string(), project.settings.projects.roots.join(", ")),
        ("watch.max_file_bytes".to_string(), project.settings.watch.max_file_bytes.to_string()),
        ("embed.model".to_string(), project.settings.embed.model.clone()),
    ]);
    Ok(InstructionsReply {
        text: INSTRUCTIONS.to_string(),
        settings,
        freshness: project.freshness(snapshot),
    })
}
