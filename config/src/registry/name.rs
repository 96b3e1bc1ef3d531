//! Names of projects: which are equal, and which are allowed.
//!
//! In: names. Out: their permalinks; objections.
//! Invariants: names with the same permalink are the same name for callers, so only one of them can be registered.

use super::{Registered, Registry, RegistryError};
use crate::place::Project;

/// Returns a name as in addresses: its letters and digits, folded, separated by single hyphens; empty if it has none.
pub fn permalink(name: &str) -> String {
    let folded = names::fold(name);
    let words = folded.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}

/// What the names of one project have in common: their permalink, or the name itself where that is empty.
pub fn name_key(name: &str) -> String {
    Some(permalink(name)).filter(|it| !it.is_empty()).unwrap_or_else(|| name.to_string())
}

/// Returns true when two names select the same project.
pub fn is_same_name(one: &str, other: &str) -> bool {
    one == other || name_key(one) == name_key(other)
}

/// Returns why a project cannot have this name.
fn fault(name: &str) -> Option<&'static str> {
    if permalink(name).is_empty() {
        return Some("it has no letter and no digit");
    }
    if name.contains(['/', '\\']) || name.starts_with('~') {
        return Some("it would be taken for a path");
    }
    if name.contains(',') {
        return Some("commas separate names in a list of projects");
    }
    if name.starts_with('-') {
        return Some("it would be taken for a flag");
    }
    name.contains(char::is_control).then_some("it contains control characters")
}

impl Registry {
    /// Checks a name that a user chose for the project of a folder.
    ///
    /// # Errors
    /// [`RegistryError::Name`] when it is not allowed, or taken by another project.
    pub fn check_name(&self, name: &str, of: &Project) -> Result<(), RegistryError> {
        let refuse = |why: String, hint: String| {
            Err(RegistryError::Name { name: name.to_string(), why, hint })
        };
        if let Some(fault) = fault(name) {
            return refuse(
                fault.to_string(),
                "use letters, digits, spaces, `-`, `_` or `.`".into(),
            );
        }
        let other =
            self.projects().iter().find(|it| it.root != of.root && is_same_name(&it.name, name));
        match other {
            Some(Registered { name, root, .. }) => refuse(
                format!("`{name}`, `{}`, has this name", root.display()),
                "choose another `--name`".into(),
            ),
            None => Ok(()),
        }
    }

    /// Returns a registered project whose folder contains that of `project`, or is inside it.
    pub fn overlapping(&self, project: &Project) -> Option<&Registered> {
        let others = self.projects().iter().filter(|it| it.root != project.root);
        others
            .into_iter()
            .find(|it| it.root.starts_with(&project.root) || project.root.starts_with(&it.root))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_permalink_are_one() {
        let table = [
            ("notes", "Notes", true),
            ("My Notes", "my-notes", true),
            ("été 2024", "E\u{301}te\u{301}_2024", true),
            ("KIZ\u{ad}", "kız", true),
            ("notes", "notes-2", false),
            ("!", "?", false),
            ("!", "!", true),
        ];
        for (one, other, same) in table {
            assert_eq!(is_same_name(one, other), same, "{one} {other}");
        }
    }

    #[test]
    fn a_name_must_be_fit_and_free() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        for folder in ["work", "other"] {
            std::fs::create_dir(scratch.path().join(folder)).expect("made");
        }
        let mut registry = Registry::default();
        registry.add(&scratch.path().join("work"), Some("My Work"), 0).expect("there");
        let other = Project::at(&scratch.path().join("other")).expect("there");
        let work = Project::at(&scratch.path().join("work")).expect("there");
        for wrong in ["", "!", "a/b", "~a", "a,b", "-a", "a\nb", "my-work", "My Work"] {
            assert!(registry.check_name(wrong, &other).is_err(), "{wrong:?}");
        }
        for (right, of) in [("Other one", &other), ("my-work", &work), ("été.2024_x", &other)] {
            assert!(registry.check_name(right, of).is_ok(), "{right:?}");
        }
        let taken = registry.check_name("my-work", &other).expect_err("taken").to_string();
        assert!(
            taken.starts_with("cannot use the project name `my-work`: `My Work`, `/"),
            "{taken}"
        );
    }
}
