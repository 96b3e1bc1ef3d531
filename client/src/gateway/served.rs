//! Served: the projects of one gateway, and the selection of one for a call.
//!
//! In: projects, a folder, names from callers. Out: the selected project, or why there is none.
//! Invariants: no two projects have the same name; a name selects one project or none; nothing is guessed for a call
//! that may change something. An index means one project for the whole session: one that is not served any more keeps
//! its index, and nothing else selects it.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use config::Project;
use config::command::project_flag;
use config::registry::{is_same_name, name_key, permalink};
use proto::catalog::CATALOG;
use proto::error::{Code, ErrorView};
use proto::tool::Effect;

use super::same::Statements;

/// Most projects named in a message.
pub(super) const MAX_LISTED: usize = 30;

/// The projects of a gateway, each identified by its index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    members: Vec<Member>,
    /// Whether these are all registered projects, with those of later.
    is_all: bool,
    /// The project of the folder in which the agent started.
    home: Option<usize>,
    /// The registry's default, if it is served.
    default: Option<usize>,
    /// The file with what people have stated to be the same in two projects.
    same_as: Option<PathBuf>,
    /// The control socket of a hub's front end, which knows what each project holds.
    front: Option<PathBuf>,
}

/// One project.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Member {
    project: Project,
    permalink: String,
    /// Whether its tools cannot write.
    is_read_only: bool,
    /// Whether it is not served any more.
    is_gone: bool,
}

/// The effect of a tool, as far as it matters for choosing a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It concerns no project in particular.
    Neutral,
    /// It only reads.
    Reads,
    /// It may change something; also any unknown tool.
    Writes,
}

impl Kind {
    pub(super) fn of(tool: &str) -> Self {
        if matches!(tool, "get_mcp_instructions" | "create_memory_project") {
            return Kind::Neutral;
        }
        let reads = |entry: &proto::catalog::Entry| matches!(entry.effect, Effect::Reads);
        match CATALOG.iter().find(|entry| entry.name == tool) {
            Some(entry) if reads(entry) => Kind::Reads,
            _ => Kind::Writes,
        }
    }
}

impl Served {
    /// Creates the list of these projects, in this order.
    ///
    /// # Errors
    /// When two have the same name; the message ends in a line `hint: …`.
    pub fn new(projects: &[Project]) -> Result<Self, String> {
        let (members, is_all) = (Vec::new(), false);
        let mut served =
            Served { members, is_all, home: None, default: None, same_as: None, front: None };
        let mut known: HashMap<String, &Project> = HashMap::new();
        for it in projects {
            if let Some(other) = known.insert(name_key(&it.name), it) {
                return Err(format!(
                    "`{}` and `{}` have the same name, `{}`\nhint: rename one with `kgctl project add DIR --name NAME`",
                    other.root.display(),
                    it.root.display(),
                    it.name
                ));
            }
            served.push(it.clone(), false);
        }
        Ok(served)
    }

    fn push(&mut self, project: Project, is_read_only: bool) {
        let permalink = Some(permalink(&project.name)).filter(|it| !it.is_empty());
        let permalink = permalink.unwrap_or_else(|| format!("project-{}", self.members.len() + 1));
        self.members.push(Member { project, permalink, is_read_only, is_gone: false });
    }

    /// Serves what `now` serves: its projects that are new are added behind the others. Returns those that are not
    /// served any more; a renamed one is another.
    pub(super) fn become_like(&mut self, now: &Served) -> Vec<usize> {
        let mut gone = self.all();
        for it in now.all().into_iter().filter_map(|it| now.members.get(it)) {
            let known = self.live().find(|(_, old)| old.project == it.project).map(|(idx, _)| idx);
            match known.and_then(|idx| self.members.get_mut(idx)) {
                Some(old) => old.is_read_only = it.is_read_only,
                None => self.push(it.project.clone(), it.is_read_only),
            }
            gone.retain(|old| Some(*old) != known);
        }
        for (idx, it) in self.members.iter_mut().enumerate() {
            it.is_gone |= gone.contains(&idx);
        }
        self.home = now.home.and_then(|it| self.at(now.root(it)));
        self.default = now.default.and_then(|it| self.at(now.root(it)));
        gone
    }

    /// Sets that these are all registered projects, with those of later.
    pub(super) fn that_are_all(self) -> Self {
        Served { is_all: true, ..self }
    }

    pub(super) fn is_all(&self) -> bool {
        self.is_all
    }

    /// Sets the project at `root`, if it is served, as that of the folder in which the agent started.
    pub fn at_home_in(mut self, root: Option<&Path>) -> Self {
        self.home = root.and_then(|root| self.at(root));
        self
    }

    /// Sets the project at `root`, if it is served, as the default.
    pub fn with_default(mut self, root: Option<&Path>) -> Self {
        self.default = root.and_then(|root| self.at(root));
        self
    }

    /// Sets the file in which a hub's front end keeps what people have stated to be the same.
    pub fn with_same_as(mut self, file: PathBuf) -> Self {
        self.same_as = Some(file);
        self
    }

    /// Sets the control socket of the front end whose hub has these projects.
    pub fn with_front(mut self, socket: PathBuf) -> Self {
        self.front = Some(socket);
        self
    }

    pub(super) fn front(&self) -> Option<&Path> {
        self.front.as_deref()
    }

    /// Reads what people have stated.
    pub(super) fn statements(&self) -> Statements {
        self.same_as.as_deref().map_or_else(Statements::default, |it| Statements::read(it, self))
    }

    /// Records which projects are read-only; these offer fewer tools.
    pub fn with_read_only(mut self, is_read_only: impl Fn(&Path) -> bool) -> Self {
        for it in &mut self.members {
            it.is_read_only = is_read_only(&it.project.root);
        }
        self
    }

    fn at(&self, root: &Path) -> Option<usize> {
        self.live().find(|(_, it)| it.project.root == root).map(|(idx, _)| idx)
    }

    fn live(&self) -> impl Iterator<Item = (usize, &Member)> {
        self.members.iter().enumerate().filter(|(_, it)| !it.is_gone)
    }

    /// Returns the projects that are served.
    pub fn projects(&self) -> impl Iterator<Item = &Project> {
        self.live().map(|(_, it)| &it.project)
    }

    /// Returns the indices of the projects that are served.
    pub(super) fn all(&self) -> Vec<usize> {
        self.live().map(|(idx, _)| idx).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.live().count()
    }

    /// Returns how many projects there have been.
    pub(super) fn n_ever(&self) -> usize {
        self.members.len()
    }

    /// Returns the project, unless it is not served any more.
    pub(super) fn get(&self, project: usize) -> Option<&Project> {
        self.members.get(project).filter(|it| !it.is_gone).map(|it| &it.project)
    }

    pub(super) fn home(&self) -> Option<usize> {
        self.home
    }

    pub(super) fn default(&self) -> Option<usize> {
        self.default
    }

    pub(super) fn name(&self, project: usize) -> &str {
        self.members.get(project).map_or("", |it| &it.project.name)
    }

    pub(super) fn permalink(&self, project: usize) -> &str {
        self.members.get(project).map_or("", |it| &it.permalink)
    }

    pub(super) fn root(&self, project: usize) -> &Path {
        self.members.get(project).map_or(Path::new(""), |it| &it.project.root)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.projects().map(|it| it.name.as_str())
    }

    /// Returns the names for people: `alpha`, `beta`; if there are many, only the first ones.
    pub(super) fn listing(&self) -> String {
        let names = self.names().take(MAX_LISTED).map(|name| format!("`{name}`"));
        let rest = self.len().saturating_sub(MAX_LISTED);
        let rest = (rest > 0).then(|| format!("and {rest} more"));
        names.chain(rest).collect::<Vec<_>>().join(", ")
    }

    /// Explains how addresses of notes name their project.
    pub(super) fn address_hint(&self) -> String {
        format!("addresses here are `memory://PROJECT/…`, of {}", self.listing())
    }

    /// Returns the project of that name, of that permalink, or in that folder.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        let position = |is_it: &dyn Fn(&Member) -> bool| {
            self.live().find(|(_, it)| is_it(it)).map(|(idx, _)| idx)
        };
        let like = |it: &Member| it.permalink == name || is_same_name(&it.project.name, name);
        position(&|it| it.project.name == name)
            .or_else(|| self.at(Path::new(name)))
            .or_else(|| position(&like))
    }

    /// Returns the project that a caller named.
    pub(super) fn named(&self, name: &str) -> Result<usize, ErrorView> {
        self.find(name).ok_or_else(|| self.unknown(name))
    }

    /// Returns the error of a call for a project that is not served.
    pub(super) fn unknown(&self, name: &str) -> ErrorView {
        ErrorView::hinted(
            Code::NotFound,
            format!("no project called `{}` is served here", brief(name)),
            match self.len() {
                0 => self.how_to_make_one(),
                _ => format!("use one of {}", self.listing()),
            },
        )
    }

    /// Says how this session gets its first project.
    pub(super) fn how_to_make_one(&self) -> String {
        match self.front {
            Some(_) => "`kgctl hub grant URL --name PROJECT --role ROLE` gives the role one; this session then has it",
            None => "`kgctl init DIR` registers a folder; this session then has it",
        }
        .to_string()
    }

    /// Returns the error of a call where no project is served.
    pub(super) fn nobody(&self) -> ErrorView {
        let message = match self.front {
            Some(_) => "the hub has no project that this role may read",
            None => "no project is registered",
        };
        let (message, hint) = (message.to_string(), Some(self.how_to_make_one()));
        ErrorView { code: Code::NotFound, message, hint, conflict: None }
    }

    /// Returns the project for a call that names none.
    pub(super) fn unnamed(&self, kind: Kind) -> Result<usize, ErrorView> {
        let all = self.all();
        // Where all there are is one, there is nothing to guess.
        let only = all.first().filter(|_| self.is_all && all.len() == 1);
        let guess = match kind {
            Kind::Writes => None,
            Kind::Reads => self.default,
            Kind::Neutral => self.default.or(all.first().copied()),
        };
        self.home.or(only.copied()).or(guess).ok_or_else(|| {
            ErrorView::hinted(
                Code::Ambiguous,
                match kind {
                    Kind::Writes => "no project to change was named, and the folder in \
                    which this session started is in none that is served"
                        .to_string(),
                    _ => "no project was named, and neither the folder in which this session \
                    started nor a default says which"
                        .to_string(),
                },
                match all.as_slice() {
                    [only] => {
                        let name = self.name(*only);
                        let flag = project_flag(name);
                        format!("use `project`: `{name}`, or start `kg-mcp` with `{flag}`")
                    }
                    _ => format!("use `project`, one of {}", self.listing()),
                },
            )
        })
    }

    /// Returns all projects. First come those that are most likely to run, the project of the
    /// current folder and the default; read-only ones come last, because they do not offer every
    /// tool.
    pub(super) fn likeliest_first(&self) -> Vec<usize> {
        let mut order: Vec<usize> = self.home.into_iter().chain(self.default).collect();
        order.extend(self.all());
        let mut seen = HashSet::new();
        order.retain(|it| seen.insert(*it));
        order.sort_by_key(|it| self.members.get(*it).is_some_and(|it| it.is_read_only));
        order
    }
}

/// Returns a caller's text, shortened to one line.
fn brief(text: &str) -> String {
    crate::render::clean(text).chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(names: &[&str]) -> Result<Served, String> {
        let project =
            |name: &&str| Project { root: format!("/{name}").into(), name: name.to_string() };
        Served::new(&names.iter().map(project).collect::<Vec<_>>())
    }

    #[test]
    fn a_name_or_its_permalink_means_one_project() {
        let served = served(&["My Notes", "work", "!"]).expect("distinct");
        let table = [
            ("My Notes", Some(0)),
            ("my-notes", Some(0)),
            ("MY NOTES", Some(0)),
            ("Work", Some(1)),
            ("!", Some(2)),
            ("project-3", Some(2)),
            ("/work", Some(1)),
            ("notes", None),
            ("", None),
            ("wor", None),
        ];
        for (name, expected) in table {
            assert_eq!(served.find(name), expected, "{name}");
        }
        let error = served.named("wrok\n").expect_err("none").to_string();
        assert!(
            error.contains("`wrok ` is served here\nhint: use one of `My Notes`, `work`, `!`"),
            "{error}"
        );
    }

    #[test]
    fn two_projects_of_one_name_are_refused() {
        let error = served(&["My Notes", "my-notes"]).expect_err("one permalink");
        assert!(error.contains("have the same name, `my-notes`\nhint: "), "{error}");
    }

    #[test]
    fn what_was_not_named_is_the_folder_then_for_reading_the_default() {
        let none = served(&["a", "b"]).expect("distinct");
        let default = none.clone().with_default(Some(Path::new("/b")));
        let home = default.clone().at_home_in(Some(Path::new("/a")));
        let elsewhere = default.clone().at_home_in(Some(Path::new("/c")));
        let table = [
            (&none, [None, None, Some(0)]),
            (&default, [None, Some(1), Some(1)]),
            (&home, [Some(0), Some(0), Some(0)]),
            (&elsewhere, [None, Some(1), Some(1)]),
        ];
        for (served, expected) in table {
            let found =
                [Kind::Writes, Kind::Reads, Kind::Neutral].map(|it| served.unnamed(it).ok());
            assert_eq!(found, expected, "{served:?}");
        }
        let refused = none.unnamed(Kind::Writes).expect_err("unclear");
        assert_eq!(refused.code, Code::Ambiguous);
        assert_eq!(refused.hint.as_deref(), Some("use `project`, one of `a`, `b`"));
        assert_eq!(home.likeliest_first(), [0, 1]);
        assert_eq!(default.likeliest_first(), [1, 0]);
        let is_b = |root: &Path| root == Path::new("/b");
        assert_eq!(default.with_read_only(is_b).likeliest_first(), [0, 1]);
    }

    #[test]
    fn a_tool_that_is_not_known_may_write() {
        let table = [
            ("hybrid_query", Kind::Reads),
            ("ingest_docs", Kind::Writes),
            ("magic", Kind::Writes),
            ("create_memory_project", Kind::Neutral),
        ];
        for (tool, kind) in table {
            assert_eq!(Kind::of(tool), kind, "{tool}");
        }
    }
}
