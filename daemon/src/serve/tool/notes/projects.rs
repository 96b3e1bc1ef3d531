//! `list_memory_projects`, `create_memory_project` and `get_mcp_instructions`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use config::{Places, Registry};
use notes::slug::slug;
use proto::error::{Code, ErrorView};
use proto::tool::notes::{
    CreateMemoryProject, CreatedProjectReply, GetMcpInstructions, InstructionsReply,
    ListMemoryProjects, ProjectView, ProjectsReply,
};
use rusqlite::{Connection, OpenFlags};

use crate::ask::AskError;
use crate::project::Project;
use crate::serve::Progress;
use crate::serve::tool::{blocking, invalid, unreadable};
use crate::store::Snapshot;

/// How to use and to set up this server.
const INSTRUCTIONS: &str = include_str!("instructions.md");

/// The registered projects, and the one that is asked.
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
            let (documents, entities) = counts(snapshot).map_err(AskError::from)?;
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

/// Documents and entities of an index.
fn counts(db: &Connection) -> rusqlite::Result<(u64, u64)> {
    let count = |sql: &str| -> rusqlite::Result<u64> {
        Ok(db.query_row(sql, [], |row| row.get::<_, i64>(0))?.max(0) as u64)
    };
    let entities = count("SELECT count(*) FROM entities WHERE status = 'active'")?;
    Ok((count("SELECT count(*) FROM docs")?, entities))
}

/// The same of another project, whether or not its daemon runs; none where it has no index that can be read.
fn counts_of_other(places: &Places, project: &ProjectView) -> Option<(u64, u64)> {
    let project =
        config::Project { root: PathBuf::from(&project.path), name: project.name.clone() };
    let index = places.project(&project).ok()?.index;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    counts(&Connection::open_with_flags(index, flags).ok()?).ok()
}

/// Registers a folder.
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
        let places = Places::from_env().map_err(|error| unusable(&error.to_string()))?;
        let is_made = !folder.exists();
        std::fs::create_dir_all(&folder).map_err(|error| {
            let message = format!("cannot make `{}`: {error}", folder.display());
            ErrorView { code: Code::Refused, message, hint: Some("choose another folder".into()), conflict: None }
        })?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs());
        let registry =
            Registry::load(&places.config).map_err(|error| unusable(&error.to_string()))?;
        check_place(&registry, &folder, &name).inspect_err(|_| {
            if is_made {
                // Empty, since it was made just now.
                let _ = std::fs::remove_dir(&folder);
            }
        })?;
        let (registered, is_new) = Registry::update(&places.config, |registry| {
            let before = registry.projects().len();
            // One that is registered keeps its name: others name it by that.
            let known = folder.canonicalize().ok().and_then(|root| registry.at(&root).cloned());
            let registered = match known {
                Some(known) => known,
                None => registry.add(&folder, Some(&name), now)?,
            };
            if request.set_default == Some(true) {
                registry.set_default(&registered.name);
            }
            Ok((registered, registry.projects().len() > before))
        })
        .map_err(|error| {
            let text = error.to_string();
            let (message, hint) = text.split_once("\nhint: ").unwrap_or((&text, "see `kgctl project list`"));
            ErrorView { code: Code::Refused, message: message.into(), hint: Some(hint.into()), conflict: None }
        })?;
        let hint = format!(
            "`kg-mcp --project {}` serves it; `kg-mcp --all-projects` serves all of them in one session",
            shell_word(&registered.name)
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

/// What no agent registers by itself.
const SYSTEM: [&str; 12] = [
    "/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr",
    "/var",
];

/// Refuses the system, a whole home, a folder in or around another project, and a name that is taken or unfit.
/// `kgctl project add` asks a person.
fn check_place(registry: &Registry, folder: &Path, name: &str) -> Result<(), ErrorView> {
    let refuse = |message: String| ErrorView {
        code: Code::Refused,
        message,
        hint: Some("choose a folder of its own; a person may use `kgctl project add`".into()),
        conflict: None,
    };
    let place = config::place::Project::at(folder).map_err(|error| refuse(error.to_string()))?;
    if registry.at(&place.root).is_some() {
        return Ok(());
    }
    let home = std::env::var_os("HOME").map(PathBuf::from).and_then(|it| it.canonicalize().ok());
    let is_system = place.root.parent().is_none()
        || SYSTEM.iter().any(|system| place.root.starts_with(system))
        || home.is_some_and(|home| home.starts_with(&place.root));
    if is_system {
        let root = place.root.display();
        return Err(refuse(format!("`{root}` is of the system, or holds all of a user's files")));
    }
    if let Some(other) = registry.overlapping(&place) {
        let (root, other) = (place.root.display(), &other.name);
        return Err(refuse(format!("`{root}` lies in or around the project `{other}`")));
    }
    registry.check_name(name, &place).map_err(|error| {
        let text = error.to_string();
        refuse(text.split("\nhint: ").next().unwrap_or(&text).to_string())
    })
}

fn shell_word(name: &str) -> String {
    let is_plain = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
    if is_plain { name.to_string() } else { format!("'{}'", name.replace('\'', "'\\''")) }
}

/// An absolute folder: what is relative would be so to the daemon, which nobody sees.
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
    ErrorView {
        code: Code::Unavailable,
        message: message.into(),
        hint: Some(hint.into()),
        conflict: None,
    }
}

/// How to use this server.
pub fn get_mcp_instructions(
    project: &Project,
    snapshot: &Snapshot,
    _: GetMcpInstructions,
) -> Result<InstructionsReply, ErrorView> {
    let settings = BTreeMap::from([
        ("project".to_string(), project.name.clone()),
        ("folder".to_string(), project.root.display().to_string()),
        ("write".to_string(), project.settings.write.to_string()),
        ("watch.max_file_bytes".to_string(), project.settings.watch.max_file_bytes.to_string()),
        ("embed.model".to_string(), project.settings.embed.model.clone()),
    ]);
    Ok(InstructionsReply {
        text: INSTRUCTIONS.to_string(),
        settings,
        freshness: project.freshness(snapshot),
    })
}
