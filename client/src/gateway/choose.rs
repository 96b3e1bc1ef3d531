//! Choose: selects the projects of a gateway, by flags, the registry, and the folder in which the agent started.
//!
//! In: flags, `KG_PROJECT`, the registry, the current folder. Out: one project, or several with the one that is used
//! when a call names none.
//! Invariants: the rules for names, folders and the current folder are those for one project (`config::registry`); no
//! other project replaces one that is not served.

use std::collections::HashSet;
use std::path::Path;

use config::boundary::{Who, objection};
use config::registry::{Registered, WhichError};
use config::{Project, Registry};

use super::served::Served;

/// The selected projects.
#[derive(Debug, PartialEq, Eq)]
pub enum Choice {
    /// One project, without a gateway.
    One(Project),
    /// Several, or all that there are; or only the default, which nobody named, so that writes need a project.
    Several(Served),
}

/// The environment of a process.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// The registry.
    pub registry: &'a Registry,
    /// `KG_PROJECT`, if set.
    pub env: Option<&'a str>,
    /// The current folder.
    pub cwd: &'a Path,
}

/// Returns the registered projects that may be served. A folder that cannot be registered now comes from an older
/// version, or was different then.
pub fn registered(registry: &Registry) -> Vec<Project> {
    let all = registry.projects().iter().map(Registered::project);
    all.filter(|it| objection(&it.root, Who::Person).is_none()).collect()
}

/// Returns all registered projects, as a session serves them that follows the registry; `KG_PROJECT` says which one is
/// the current one, if it names one of them.
///
/// # Errors
/// Projects with the same name.
pub fn all(around: Surroundings<'_>) -> Result<Served, String> {
    Ok(served(&registered(around.registry), around)?.that_are_all())
}

/// Returns the chosen projects without those that were in the registry `then` and are not any more, as a session serves
/// them; one that was renamed has its new name.
///
/// # Errors
/// Projects with the same name.
pub fn left(
    chosen: &[Project],
    then: &Registry,
    around: Surroundings<'_>,
) -> Result<Served, String> {
    let left = chosen.iter().filter_map(|it| match around.registry.at(&it.root) {
        Some(now) => Some(now.project()),
        None => then.at(&it.root).is_none().then(|| it.clone()),
    });
    served(&left.collect::<Vec<_>>(), around)
}

fn served(projects: &[Project], around: Surroundings<'_>) -> Result<Served, String> {
    let Surroundings { registry, env, cwd } = around;
    let home = match env.filter(|env| !env.is_empty()) {
        Some(env) => registry.which(Some(env), None, cwd).ok().map(|it| it.root),
        None => around_cwd(projects, registry, cwd),
    };
    let default = registry.projects().iter().find(|it| it.default).map(|it| it.root.as_path());
    Ok(Served::new(projects)?.at_home_in(home.as_deref()).with_default(default))
}

/// Selects projects by `flags` (`--project`, each a name, a folder, or several separated by commas) or by `all`
/// (`--all-projects`).
///
/// # Errors
/// Unknown names, and projects with the same name; the message ends in a line `hint: …`.
pub fn choose(flags: &[String], all: bool, around: Surroundings<'_>) -> Result<Choice, String> {
    let Surroundings { registry, env, cwd } = around;
    let env = env.filter(|env| !env.is_empty());
    let which = |flag: Option<&str>| registry.which(flag, env, cwd);
    if all {
        // A variable that names nothing is a mistake; with flags it is ignored, as for one project.
        env.map_or(Ok(()), |_| which(None).map(drop)).map_err(|error| error.to_string())?;
        return self::all(around).map(Choice::Several);
    }
    let mut projects = Vec::new();
    if flags.is_empty() {
        projects.push(which(None).map_err(|error| error.to_string())?);
    }
    for flag in flags {
        projects.extend(named(flag, which).map_err(|error| error.to_string())?);
    }
    let mut roots = HashSet::new();
    projects.retain(|it| roots.insert(it.root.clone()));
    if let [only] = projects.as_slice() {
        // With one registered project there is no ambiguity.
        let is_meant = !flags.is_empty() || env.is_some() || registry.projects().len() < 2;
        if is_meant || around_cwd(&projects, registry, cwd).is_some() {
            return Ok(Choice::One(only.clone()));
        }
    }
    served(&projects, around).map(Choice::Several)
}

/// Returns the project of that name or folder; otherwise several, separated by commas.
fn named<'a>(
    flag: &'a str,
    which: impl Fn(Option<&'a str>) -> Result<Project, WhichError>,
) -> Result<Vec<Project>, WhichError> {
    let names: Vec<_> = flag.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    match which(Some(flag)) {
        Ok(project) => Ok(vec![project]),
        Err(error) if names.len() < 2 && names.first().is_none_or(|name| *name == flag) => {
            Err(error)
        }
        Err(_) => names.into_iter().map(|name| which(Some(name))).collect(),
    }
}

/// Returns the folder of the innermost project around `cwd`, served or not: inside a project that
/// is not served, no other project is the current one.
fn around_cwd(projects: &[Project], registry: &Registry, cwd: &Path) -> Option<std::path::PathBuf> {
    let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_path_buf());
    let registered = registry.projects().iter().map(|it| &it.root);
    let roots = projects.iter().map(|it| &it.root).chain(registered);
    let around = roots.filter(|root| cwd.starts_with(root));
    around.max_by_key(|root| root.components().count()).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flags, `--all-projects`, `KG_PROJECT`, the current folder, and the expected selection.
    type Row<'a> = (&'a [&'a str], bool, Option<&'a str>, &'a str, &'a str);

    /// Checks rows with `a`, `a/deep`, `b` and `x,y` registered, `b` by default; `outside` is a folder.
    fn check(table: &[Row<'_>]) {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        for folder in ["a/deep/in", "b", "x,y", "outside"] {
            std::fs::create_dir_all(scratch.path().join(folder)).expect("made");
        }
        let mut registry = Registry::default();
        for folder in ["a", "a/deep", "b", "x,y"] {
            registry.add(&scratch.path().join(folder), None, 0).expect("there");
        }
        registry.set_default("b");
        let outside = scratch.path().join("outside").display().to_string();
        for (flags, all, env, cwd, expected) in table {
            let flags: Vec<_> = flags.iter().map(|it| it.replace("/outside", &outside)).collect();
            let cwd = scratch.path().join(cwd);
            let around = Surroundings { registry: &registry, env: *env, cwd: &cwd };
            let shown = match choose(&flags, *all, around) {
                Ok(Choice::One(project)) => project.name,
                Ok(Choice::Several(served)) => {
                    let name = |it: Option<usize>| it.map_or("-", |it| served.name(it)).to_string();
                    let names: Vec<_> = served.names().collect();
                    format!(
                        "{} in {} else {}",
                        names.join("+"),
                        name(served.home()),
                        name(served.default())
                    )
                }
                Err(error) => error.lines().next().unwrap_or_default().to_string(),
            };
            assert_eq!(shown, *expected, "{flags:?} {all} {env:?} {cwd:?}");
        }
    }

    #[test]
    fn flags_lists_and_all_of_them() {
        check(&[
            (&[], false, None, "a/deep/in", "deep"),
            (&[], false, None, "outside", "b in - else b"),
            (&[], false, Some("a"), "outside", "a"),
            (&["a"], false, None, "b", "a"),
            (&["a", "a"], false, None, "b", "a"),
            (&["x,y"], false, None, "b", "x,y"),
            (&["a", "b"], false, None, "outside", "a+b in - else b"),
            (&["a,deep"], false, None, "a/deep/in", "a+deep in deep else -"),
            (&["a, deep,"], false, None, "a", "a+deep in a else -"),
            (&["/outside", "a"], false, None, "outside", "outside+a in outside else -"),
            (&[], true, None, "outside", "a+deep+b+x,y in - else b"),
            (&[], true, None, "b", "a+deep+b+x,y in b else b"),
        ]);
    }

    #[test]
    fn inside_a_project_that_is_not_served_none_is_at_home() {
        check(&[(&["a", "b"], false, None, "a/deep/in", "a+b in - else b")]);
    }

    #[test]
    fn the_variable_says_which_one_is_meant_and_must_name_one() {
        check(&[
            (&[], true, Some("a"), "b", "a+deep+b+x,y in a else b"),
            (&["a", "b"], false, Some("deep"), "a", "a+b in - else b"),
            (&["a", "b"], false, Some("nope"), "a", "a+b in - else b"),
            (
                &[],
                true,
                Some("nope"),
                "b",
                "no project or folder is called `nope` (from `KG_PROJECT`); registered projects:",
            ),
        ]);
    }

    #[test]
    fn what_was_registered_and_is_not_any_more_is_not_served() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let at = |name: &str| scratch.path().join(name);
        for name in ["a", "b", "outside"] {
            std::fs::create_dir(at(name)).expect("made");
        }
        let mut then = Registry::default();
        let mut chosen: Vec<_> =
            ["a", "b"].map(|it| then.add(&at(it), None, 0).expect("there").project()).into();
        chosen.push(Project::at(&at("outside")).expect("there"));
        let mut registry = Registry::default();
        registry.add(&at("a"), Some("renamed"), 0).expect("there");
        let around = Surroundings { registry: &registry, env: None, cwd: Path::new("/") };
        let served = left(&chosen, &then, around).expect("served");
        assert_eq!(served.names().collect::<Vec<_>>(), ["renamed", "outside"]);
    }

    #[test]
    fn a_name_that_means_nothing_is_told() {
        let nope = "no project or folder is called `nope` (from `--project`); registered projects:";
        check(&[(&["a,nope"], false, None, "b", nope), (&["nope"], false, None, "b", nope)]);
        let around =
            Surroundings { registry: &Registry::default(), env: None, cwd: Path::new("/") };
        let none = choose(&[], false, around).expect_err("none is registered");
        assert!(none.contains("none is registered\nhint: "), "{none}");
    }
}
